// The reference's way of calling a tool, written down from its documents: parse, canonical text,
// sha256, Joi, event, handler, event. Reads one request as JSON from stdin:
//   {"bench": "dispatch" | "callid", "rounds": n, "sampleMs": n, "cases": [{"name", "text"}]}
// and prints [{"name", "ns", "answer"}] where `ns` is process CPU time per call, JIT warm.
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import Joi from 'joi';
import { sha256 } from 'js-sha256';

const str = (min, max) => Joi.string().min(min).max(max).required();
const int = (min, max) => Joi.number().integer().min(min).max(max).required();
const num = (min, max) => Joi.number().min(min).max(max).required();
const word = (...words) => Joi.string().valid(...words).required();
const bool = () => Joi.boolean().required();
const obj = (keys) => Joi.object(keys).required();
const list = (item, max) => Joi.array().items(item).max(max).required();

const address = () =>
  obj({ street: str(1, 80), city: str(1, 60), zip: str(3, 10), country: str(2, 2) });

const tools = {
  small: {
    name: 'forecast',
    schema: obj({ city: str(1, 80), days: int(1, 14), units: word('metric', 'imperial') }),
    handler: ({ city, days, units }) => `${days} days of ${city} in ${units}`,
  },
  large: {
    name: 'place_order',
    schema: obj({
      id: str(1, 40),
      priority: word('low', 'normal', 'high'),
      note: str(0, 200),
      gift: bool(),
      tags: list(Joi.string().max(30), 10),
      quantities: list(Joi.number().integer().min(1).max(999), 20),
      customer: obj({
        name: str(1, 80), email: str(3, 80), age: int(18, 120), vip: bool(), points: int(0, 1000000),
      }),
      billing: address(),
      shipping: address(),
      payment: obj({
        method: word('card', 'invoice', 'cash'), currency: word('eur', 'usd', 'chf'),
        amount: num(0, 100000), installments: int(1, 36), reference: str(1, 40),
      }),
      delivery: obj({
        carrier: str(1, 40), express: bool(), window_start: int(0, 23), window_end: int(0, 23),
        instructions: str(0, 200),
      }),
      discount: obj({ code: str(1, 20), percent: num(0, 100), stackable: bool() }),
      contact: obj({
        phone: str(5, 30), language: word('en', 'de', 'fr'), newsletter: bool(),
        preferred_hour: int(0, 23),
      }),
      audit: obj({ source: str(1, 40), version: int(1, 1000), created: str(10, 40), checksum: str(8, 64) }),
    }),
    handler: (o) => {
      const pieces = o.quantities.reduce((sum, it) => sum + it, 0);
      const cents = Math.trunc(o.payment.amount * 100);
      return `${o.id}: ${pieces} pieces, ${o.tags.length} tags, ${cents} cents to ${o.shipping.city}`;
    },
  },
};

function canonical(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const member = (key) => `${JSON.stringify(key)}:${canonical(value[key])}`;
  return `{${Object.keys(value).sort().map(member).join(',')}}`;
}

const callId = (value) => sha256(canonical(value));

function dispatch({ name, text }) {
  const { name: tool, schema, handler } = tools[name];
  const bus = new EventEmitter();
  let seen = 0;
  bus.on('start', () => (seen += 1));
  bus.on('end', () => (seen += 1));
  return async () => {
    const args = JSON.parse(text);
    const id = callId({ tool, args });
    const valid = await schema.validateAsync(args);
    bus.emit('start', { callId: id, tool, args });
    const result = await handler(valid);
    bus.emit('end', { callId: id, tool, result });
    return result;
  };
}

function callid({ text }) {
  const value = JSON.parse(text);
  return () => callId(value);
}

const cpuNs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
};

async function sample(work, calls) {
  const start = cpuNs();
  for (let i = 0; i < calls; i += 1) {
    const pending = work();
    if (pending instanceof Promise) await pending;
  }
  return cpuNs() - start;
}

async function measure(work, { rounds, sampleMs }) {
  const target = sampleMs * 1e6;
  let calls = 1;
  let spent = await sample(work, calls);
  while (spent < 20 * target) {
    calls *= 2;
    spent = await sample(work, calls); // the last of these leaves the JIT warm
  }
  calls = Math.max(1, Math.round((calls * target) / spent));
  const samples = [];
  for (let i = 0; i < rounds; i += 1) samples.push((await sample(work, calls)) / calls);
  return samples.sort((a, b) => a - b)[Math.floor(rounds / 2)];
}

const request = JSON.parse(readFileSync(0, 'utf8'));
const make = { dispatch, callid }[request.bench];
const results = [];
for (const item of request.cases) {
  const work = make(item);
  const answer = await work();
  results.push({ name: item.name, ns: await measure(work, request), answer });
}
console.log(JSON.stringify(results));
