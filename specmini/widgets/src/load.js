/* The controls that say what a pass runs on: machine, model, bits, devices, context. Only what is
 * possible can be chosen; the notes below them say why other things are not. */

const BATCH_STOPS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512];
const LOAD_SLIDERS = [
  { name: "K", label: "Draft length K", hint: "guesses per round", step: 1, speak: (value) => plural(value, "token") },
  { name: "batch", label: "Batch", hint: "sequences decoded together", step: 1, stops: BATCH_STOPS, speak: (value) => plural(value, "sequence") },
];
const bitsWords = (bits) => `${bits} bits`;

function machineOptions() {
  return Object.entries(DATA.machines).map(([value, { name }]) =>
    OPTIONS.machine.includes(value) ? { value, text: name } : { value, text: `${name}: no peak documented`, disabled: true });
}

function modelOptions() {
  return OPTIONS.model.map((value) => {
    const { name, experts } = DATA.models[value];
    return { value, text: name, group: experts ? "Mixture of experts" : "Dense" };
  });
}

function possibleOptions(model, name, words) {
  const now = { machine: model.get("machine"), model: model.get("model"), devices: 1 };
  return OPTIONS[name].filter((value) => !impossible({ ...now, [name]: value })).map((value) => ({ value, text: words(value) }));
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
