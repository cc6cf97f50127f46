/* Time of one pass of a model on a machine, as specmini/roofline.py counts it, in 16-bit weights
 * and cache. Machines and model shapes come with the data that the build puts in. */

function entries({ columns, rows }) {
  const entry = (row) => Object.fromEntries(columns.map((name, index) => [name, row[index]]));
  return Object.fromEntries(Object.entries(rows).map(([key, row]) => [key, entry(row)]));
}
DATA.machines = entries(DATA.machines);
DATA.models = entries(DATA.models);

const roofline = {
  passTime(machine, model, batch, newTokens, context) {
    const bytesPerPosition = model.kv_values_per_token * DATA.bytes_per_value;
    const reading = (model.matmul_parameters * DATA.bytes_per_value) / machine.bandwidth;
    const multiplying = (2 * model.matmul_parameters * batch * newTokens) / machine.peak_flops;
    const attended = newTokens * context + (newTokens * (newTokens + 1)) / 2;
    const cacheBytes = batch * (context + newTokens) * bytesPerPosition;
    const attention = Math.max(cacheBytes / machine.bandwidth,
      (4 * model.attention_width * batch * attended) / machine.peak_flops);
    const weights = model.parameters * DATA.bytes_per_value;
    return {
      time: Math.max(reading, multiplying) + attention,
      computing: multiplying > reading,
      weights,
      cache: cacheBytes,
      fits: weights + cacheBytes <= machine.memory,
    };
  },
  verifyCost: (machine, model, batch, K, context) =>
    roofline.passTime(machine, model, batch, K + 1, context).time / roofline.passTime(machine, model, batch, 1, context).time,
};
