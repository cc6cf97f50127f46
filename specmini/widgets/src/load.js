/* What a pass runs on: machine, model, bits, devices, context; which of them exclude each other, and
 * their controls. Only what is possible can be chosen; the notes below say why other things are not. */

const LOAD_OPTIONS = {
  machine: Object.keys(DATA.machines).filter((key) => DATA.machines[key].peak_flops !== null),
  model: Object.keys(DATA.models), weight_bits: DATA.bits, arithmetic_bits: DATA.bits, devices: DATA.devices,
};
const BATCH_STOPS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];
const LOAD_SLIDERS = [
  { name: "K", label: "Draft length K", hint: "guesses per round", step: 1, speak: (value) => plural(value, "token") },
  { name: "batch", label: "Batch", hint: "sequences decoded together", step: 1, stops: BATCH_STOPS, speak: (value) => plural(value, "sequence") },
];

/* Why settings that are fine by themselves exclude each other, or null. */
function impossible({ machine, model, arithmetic_bits: bits = 16, devices }) {
  const device = DATA.machines[machine], shape = DATA.models[model];
  if (roofline.peak(device, bits) === null) return `arithmetic_bits must be 16 on ${device.name}, of which no ${bits}-bit peak is documented, got ${bits}`;
  if (devices > 1 && device.interconnect === null) return `devices must be 1 on ${device.name}, whose interconnect is not documented, got ${devices}`;
  return shape.heads % devices ? `devices must divide the ${shape.heads} heads of ${shape.name}, got ${devices}` : null;
}

/* What of chosen settings goes back to where it is possible, and why. */
function possibleInstead(chosen) {
  const instead = {}, said = [], device = DATA.machines[chosen.machine];
  if (roofline.peak(device, chosen.arithmetic_bits || 16) === null) {
    said.push(`Back to 16-bit arithmetic: no ${chosen.arithmetic_bits}-bit peak of ${device.name} is documented.`);
    instead.arithmetic_bits = 16;
  }
  const wrong = impossible({ ...chosen, ...instead });
  if (wrong) {
    said.push(`Back to one device: ${wrong}.`);
    instead.devices = 1;
  }
  return { instead, said };
}

/* The desk of an explorer whose settings include a load. */
const loadBench = (bench) => workbench({ ...bench, options: LOAD_OPTIONS, excluded: impossible, mended: possibleInstead });

const bitsWords = (bits) => `${bits} bits`;

function machineOptions() {
  return Object.entries(DATA.machines).map(([value, { name }]) =>
    LOAD_OPTIONS.machine.includes(value) ? { value, text: name } : { value, text: `${name}: no peak documented`, disabled: true });
}

function modelOptions() {
  return LOAD_OPTIONS.model.map((value) => {
    const { name, experts } = DATA.models[value];
    return { value, text: name, group: experts ? "Mixture of experts" : "Dense" };
  });
}

function possibleOptions(model, name, words) {
  const now = { machine: model.get("machine"), model: model.get("model"), devices: 1 };
  return LOAD_OPTIONS[name].filter((value) => !impossible({ ...now, [name]: value })).map((value) => ({ value, text: words(value) }));
}

function loadControls(model, choose, names) {
  const after = ["machine", "model"];
  const specs = {
    machine: { label: "Machine", options: machineOptions },
    model: { label: "Target model", options: modelOptions },
    weight_bits: { label: "Weights", options: () => DATA.bits.map((value) => ({ value, text: bitsWords(value) })) },
    arithmetic_bits: { label: "Arithmetic", after, options: () => possibleOptions(model, "arithmetic_bits", bitsWords) },
    devices: { label: "Devices", after, options: () => possibleOptions(model, "devices", String) },
    context: { label: "Context (tokens)", step: 1 },
    overhead_ms: { label: "Overhead (ms)", step: 0.1 },
  };
  return names.map((name) => (specs[name].options ? choice(model, { name, choose, ...specs[name] }) : numberField(model, DATA.ranges[name], { name, ...specs[name] })));
}

/* Whether a pass fits into the memory of its devices, in words. */
function memoryWords({ devices }, { device, shape }, pass) {
  const gigabytes = (bytes) => `${plain(bytes / 1e9, 3)} GB`;
  const room = `${devices > 1 ? `each of ${devices} × ` : ""}${gigabytes(device.memory)}`;
  const load = `${gigabytes(pass.weights)} of weights and ${gigabytes(pass.cache)} of cache on ${room}`;
  if (pass.fits) return [`${shape.name} fits: ${load}. `];
  const needed = pass.weights > device.memory ? `${gigabytes(pass.weights)} of weights on ${room}` : load;
  return [h("strong", {}, "Does not fit: "), `${needed}. The times are what it would take if it did. `];
}

/* What cannot be chosen on this machine because no document states a number. */
function limitWords({ machine, arithmetic_bits: bits }) {
  const { interconnect, peak_flops_8bit: narrow } = DATA.machines[machine];
  const unknown = [...(bits && narrow === null ? ["an 8-bit peak"] : []), ...(interconnect === null ? ["an interconnect"] : [])];
  return unknown.length ? `Not documented for this machine: ${unknown.join(", ")}.` : "";
}
