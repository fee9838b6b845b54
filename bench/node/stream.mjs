// A stream of Chat Completions read with fetch, JSON.parse and string concatenation. Reads one request from stdin:
//   {"url", "rounds"}
// and prints {"wall", "cpu", "answer"}: medians of seconds for a whole stream, JIT warm.
import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';

const { url, rounds } = JSON.parse(readFileSync(0, 'utf8'));

async function read() {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: '{"model":"m","stream":true,"messages":[]}',
  });
  const answer = { text: '', calls: [], tokens: 0 };
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body) {
    rest += decoder.decode(bytes, { stream: true });
    let from = 0;
    for (let at; (at = rest.indexOf('\n\n', from)) >= 0; from = at + 2) {
      const data = rest.slice(from + 6, at);
      if (data === '[DONE]') continue;
      const { choices, usage } = JSON.parse(data);
      if (usage) answer.tokens = usage.total_tokens;
      for (const { delta } of choices) {
        if (delta.content) answer.text += delta.content;
        for (const { index, function: call } of delta.tool_calls ?? []) {
          const known = (answer.calls[index] ??= { name: '', args: '' });
          known.name += call.name ?? '';
          known.args += call.arguments ?? '';
        }
      }
    }
    rest = rest.slice(from);
  }
  return answer;
}

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
const { text, calls, tokens } = await read();
const names = calls.map((it) => it.name).join(',');
const answer = `${sha256(text)} ${names} ${sha256(calls.map((it) => it.args).join(''))} ${tokens}`;
const walls = [];
const cpus = [];
for (let round = 0; round < rounds; round += 1) {
  const [wall, cpu] = [performance.now(), process.cpuUsage()];
  await read();
  const { user, system } = process.cpuUsage(cpu);
  walls.push((performance.now() - wall) / 1e3);
  cpus.push((user + system) / 1e6);
}
console.log(JSON.stringify({ wall: median(walls), cpu: median(cpus), answer }));
