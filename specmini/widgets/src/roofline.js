/* Time of one pass of a model on a machine, as specmini/roofline/pass_parts.py counts it, and what follows
 * from it. A test compares the two. Machines and the shapes of models come with the data that the
 * build puts in; tokens choose experts independently of each other. */

function entries({ columns, rows }) {
  const entry = (row) => Object.fromEntries(columns.map((name, index) => [name, row[index]]));
  return Object.fromEntries(Object.entries(rows).map(([key, row]) => [key, entry(row)]));
}
DATA.machines = entries(DATA.machines);
DATA.models = entries(DATA.models);

const ONE_DEVICE = { bits: 16, arithmetic: 16, devices: 1, overhead: {} };

const roofline = {
  /* The dense peak of an arithmetic in FLOP/s; null if no document states it. */
  peak: (machine, bits) => machine[bits === 16 ? "peak_flops" : `peak_flops_${bits}bit`],

  /* Experts that at least one of t tokens visits: E (1 - (1 - k/E)^t); 0 without experts. */
  expertsTouched({ experts, experts_per_token: visited }, tokens) {
    return visited === experts ? experts : -experts * Math.expm1(Math.log1p(-visited / experts) * tokens);
  },

  /* Of some parameters, those that one device reads or multiplies. */
  share({ model, devices }, parameters) {
    const whole = model.replicated_parameters;
    return whole + (parameters - whole) / devices;
  },

  weightBytes(run, touched) {
    const { model, bits } = run;
    const more = (touched - model.experts_per_token) * model.expert_layers * model.expert_parameters;
    return roofline.share(run, model.matmul_parameters + more) * (bits / 8);
  },

  attention({ machine, model, devices }, batch, newTokens, context) {
    const copies = 1 / Math.min(devices, model.kv_heads);
    const sum = { time: 0, memory: 0, arithmetic: 0, bytes: 0, flops: 0 };
    for (const [layers, window] of model.attention_layers) {
      const reach = window === null ? Infinity : window;
      const seen = Math.min(context, reach - 1) + newTokens;
      const growing = Math.min(Math.max(reach - context, 0), newTokens);
      const attended = growing * context + (growing * (growing + 1)) / 2 + (growing < newTokens ? (newTokens - growing) * reach : 0);
      const bytes = batch * seen * (layers * model.kv_values_per_layer * copies) * DATA.bytes_per_value;
      const flops = batch * attended * ((layers * model.flops_per_attended) / devices);
      const memory = bytes / machine.bandwidth, arithmetic = flops / machine.peak_flops;
      sum.time += Math.max(memory, arithmetic);
      sum.memory += memory;
      sum.arithmetic += arithmetic;
      sum.bytes += bytes;
      sum.flops += flops;
    }
    return sum;
  },

  /* `settings`: machine, model, bits of a stored weight, bits of the arithmetic, devices, and the
   * engine's overhead in seconds. Bytes and operations are those of one device. */
  passTime(settings, batch, newTokens, context) {
    const run = { ...ONE_DEVICE, ...settings }, { machine, model, devices } = run;
    const { perPass = 0, perLayer = 0, perSequence = 0, perToken = 0, transfer = 0 } = run.overhead;
    const tokens = batch * newTokens;
    const touched = roofline.expertsTouched(model, tokens);
    const weightBytes = roofline.weightBytes(run, touched);
    const linearFlops = 2 * tokens * roofline.share(run, model.matmul_parameters);
    const reading = weightBytes / machine.bandwidth;
    const multiplying = linearFlops / roofline.peak(machine, run.arithmetic);
    const attention = roofline.attention(run, batch, newTokens, context);
    const message = tokens * model.hidden * DATA.activation_bytes;
    const allReduce = devices > 1 ? 2 * (devices - 1) * (transfer + message / devices / machine.interconnect) : 0;
    const times = {
      weights: Math.max(reading, multiplying),
      attention: attention.time,
      communication: 2 * model.layers * allReduce,
      overhead: perPass + model.layers * perLayer + batch * (perSequence + newTokens * perToken),
    };
    const stored = (model.parameters / devices) * (run.bits / 8);
    return {
      times,
      time: times.weights + times.attention + times.communication + times.overhead,
      computing: multiplying > reading,
      attending: attention.arithmetic > attention.memory, // arithmetic limits attention
      weightBytes, linearFlops, touched, tokens,
      cache: attention.bytes,
      attentionFlops: attention.flops,
      weights: stored,
      fits: stored + attention.bytes <= machine.memory,
    };
  },

  verifyCost: (run, batch, K, context) =>
    roofline.passTime(run, batch, K + 1, context).time / roofline.passTime(run, batch, 1, context).time,

  /* Tokens at which reading the weights and computing with them take equally long. With experts
   * the tokens decide what is read: from all experts downwards until nothing changes. */
  ridgeTokens(settings) {
    const run = { ...ONE_DEVICE, ...settings }, { machine, model } = run;
    const perToken = (2 * roofline.share(run, model.matmul_parameters)) / roofline.peak(machine, run.arithmetic);
    const meet = (touched) => roofline.weightBytes(run, touched) / machine.bandwidth / perToken;
    let tokens = Infinity;
    for (let next = meet(model.experts); next < tokens; next = meet(roofline.expertsTouched(model, Math.max(tokens, 1)))) tokens = next;
    return tokens;
  },

  /* Sequences that fit beside the weights with so many positions each; 0 if not one does. */
  largestBatch(settings, positions) {
    const { weights, cache } = roofline.passTime(settings, 1, 1, positions - 1);
    return Math.max(0, Math.floor((settings.machine.memory - weights) / cache));
  },
};
