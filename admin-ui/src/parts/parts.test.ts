// The page's own logic, without a browser.

import { describe, expect, it } from 'vitest'
import { EventParser } from '../api/events'
import { KEPT, liveUrl, merged, type LiveExchange } from '../api/live'
import { Problem, problemOf } from '../api/client'
import { dialectWord, writable } from '../api/shapes'
import { diff, folded } from './diff'
import { group, milliseconds, share } from './figures'
import { marked } from './marked'
import { matches } from './match'
import { placeOf } from './place'
import { snippet } from './snippets'
import { spoken, told } from './spoken'
import { isWebAddress, pieces } from './text'
import { ago, duration, utc } from './time'
import { detailOf, microseconds, timeline } from './timeline'
import { flagWords } from './words'
import { may } from '../session'
import { s } from '../strings'

const exchange = (id: string): LiveExchange => ({ correlation_id: id } as LiveExchange)

describe('texts of others', () => {
  it('makes hidden characters visible and leaves the rest', () => {
    expect(pieces('\u202egpj.exe')).toEqual([{ text: 'U+202E', hidden: true }, { text: 'gpj.exe', hidden: false }])
    expect(pieces('a\u{e0041}b').map((one) => one.text)).toEqual(['a', 'U+E0041', 'b'])
    expect(pieces('grüße 漢\n')).toEqual([{ text: 'grüße 漢\n', hidden: false }])
  })
  it('takes only addresses of the web for links', () => {
    expect(isWebAddress('https://a.test/x')).toBe(true)
    for (const bad of ['javascript:alert(1)', '//evil.test', 'data:text/html,x', ' https://a', 'https://', 7, undefined]) expect(isWebAddress(bad), String(bad)).toBe(false)
  })
})

describe('events', () => {
  it('are the same in whatever pieces they come', () => {
    const text = 'event: exchange\r\ndata: {"a":1}\r\n\r\n: ping\n\nevent: now\ndata: x\ndata: y\n\n'
    const whole = new EventParser().push(text)
    expect(whole).toEqual([{ name: 'exchange', data: '{"a":1}' }, { name: 'now', data: 'x\ny' }])
    for (let cut = 1; cut < text.length; cut++) {
      // A carriage return that is cut from its line feed is the one thing the gateway never sends.
      if (text[cut - 1] === '\r') continue
      const parser = new EventParser()
      expect([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))]).toEqual(whole)
    }
  })
  it('are kept newest first, each once, and not without end', () => {
    expect(merged([exchange('b'), exchange('a')], [exchange('a'), exchange('z')]).map((one) => one.correlation_id)).toEqual(['b', 'a', 'z'])
    const many = Array.from({ length: KEPT + 50 }, (_, at) => exchange(String(at)))
    expect(merged(many, []).length).toBe(KEPT)
    expect(liveUrl({ tenant: 'a b', card: '', outcome: 'ok' })).toBe('/api/v1/live?tenant=a+b&outcome=ok')
  })
  it('of a test call are said in words', () => {
    const event = (name: string, data: unknown) => spoken({ name, data: JSON.stringify(data) })
    expect(event('event', { artifactUpdate: { artifact: { parts: [{ text: 'hi' }] } } })).toEqual({ kind: 'said', text: 'hi' })
    expect(event('event', { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } })).toEqual({ kind: 'note', text: 'status: input required' })
    expect(event('blocked', { rule: 'words', surface: 'a2a_inbound' }).kind).toBe('bad')
    expect(event('fault', { message: 'no' }).text).toContain('no')
    expect(told({ task: { artifacts: [{ parts: [{ data: { a: 1 } }] }] } }).text).toContain('"a": 1')
    expect(spoken({ name: 'event', data: 'no json' }).text).toBe('no json')
  })
})

describe('documents', () => {
  it('differ line by line', () => {
    const lines = diff('a\nb\nc', 'a\nx\nc\nd')
    expect(lines.map((line) => line.kind[0] + line.text)).toEqual(['sa', 'db', 'ax', 'sc', 'ad'])
    expect(diff('same', 'same').every((line) => line.kind === 'same')).toBe(true)
    const long = Array.from({ length: 100 }, (_, at) => String(at)).join('\n')
    const short = folded(diff(long, long.replace('50', 'fifty')))
    expect(short.length).toBe(10)
    expect(short[0]).toEqual({ kind: 'gap', text: '47' })
  })
  it('show where a problem is', () => {
    const text = '{\n  "card": {"name": "x", "skills": [1, {"id": "two"}]},\n  "upstream": {"interfaces": [{"url": "u"}]}\n}'
    const at = (path: string) => {
      const { from, to } = placeOf(text, path)
      return text.slice(from, to)
    }
    expect(at('spec.card.name')).toBe('"name"')
    expect(at('spec.card.skills.1.id')).toBe('"id"')
    expect(at('spec.card.skills.0')).toBe('1')
    expect(at('spec.upstream.interfaces.0.url')).toBe('"url"')
    expect(at('spec.upstream.colon')).toBe('"upstream"')
    expect(at('nothing')).toBe('{')
    expect(placeOf('{"a": ', 'spec.a.b').from).toBeGreaterThanOrEqual(0)
  })
  it('are sent back without what only reads show', () => {
    const spec = { state: 'draft', trust_tier: 'signed', version: 3, more: { kept: true } }
    expect(writable(spec)).toEqual({ state: 'draft', more: { kept: true } })
    expect(spec.version).toBe(3)
  })
  it('name dialects briefly', () => {
    const of = (binding: string, version: string) => ({ url: 'u', binding, version })
    expect(dialectWord({ upstream: { interfaces: [of('JSONRPC', '1.0'), of('JSONRPC', '0.3'), of('GRPC', '1.0')] } })).toBe('JSON-RPC 1.0 0.3, gRPC 1.0')
    expect(dialectWord({})).toBe('–')
  })
})

describe('findings', () => {
  it('are marked by bytes, also behind letters of many', () => {
    const found = { detector: 'words', action: 'block', start: 6, end: 10 }
    expect(marked('grüßen', [{ ...found, start: 2, end: 6 }]).map((one) => one.text)).toEqual(['gr', 'üß', 'en'])
    expect(marked('hello you all', [found, { ...found, start: 8, end: 13 }]).map((one) => [one.text, Boolean(one.found)])).toEqual([['hello ', false], ['you ', true], ['all', true]])
    expect(marked('plain', [])).toEqual([{ text: 'plain' }])
    expect(marked('x', [{ ...found, start: 50, end: 60 }])).toEqual([{ text: 'x' }])
  })
  it('of cards are said in words', () => {
    expect(flagWords({ path: 'spec.card.skills.0.description', problem: 'is flagged: tells the model that reads it what to do (injection)' }))
      .toBe('“skills 1 › description” tells the model that reads it what to do (injection)')
    expect(flagWords({ path: 'spec.card', problem: 'could not be looked at' })).toBe('“the card” could not be looked at')
  })
})

describe('figures and times', () => {
  it('group outcomes as people think', () => {
    const slot = { at: 't', count: 10, outcomes: { ok: 5, agent_fault: 1, blocked: 2, upstream_error: 2 } }
    expect(group(slot as never)).toEqual({ at: 't', ok: 6, stopped: 2, failed: 2 })
    expect([share(0, 5), share(1, 1000), share(1, 3), share(0, 0)]).toEqual(['0 %', '< 1 %', '33 %', '0 %'])
    expect([milliseconds(null), milliseconds(1.23), milliseconds(45.6), milliseconds(2345)]).toEqual(['–', '1.2 ms', '46 ms', '2.3 s'])
  })
  it('say how long and how long ago', () => {
    expect([duration(900), duration(1500), duration(15_000), duration(2_500_000), duration(120_000_000)]).toEqual(['900 µs', '1.5 ms', '15 ms', '2.5 s', '2 min'])
    const now = Date.parse('2026-01-01T00:10:00Z')
    expect(ago('2026-01-01T00:09:58Z', now)).toBe('just now')
    expect(ago('2026-01-01T00:06:00Z', now)).toBe('4 min ago')
    expect(ago('2025-12-31T20:10:00Z', now)).toBe('4 h ago')
    expect(utc('2026-01-01T00:09:58.123456Z')).toBe('2026-01-01 00:09:58.123 UTC')
  })
  it('lay an exchange out, to the microsecond', () => {
    expect(microseconds('2026-01-01T00:00:00.000123Z') - microseconds('2026-01-01T00:00:00Z')).toBe(123)
    const line = timeline('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001Z', { upstream_us: 600, guard_us: 100 })
    expect(line.stages.map((one) => one.us)).toEqual([1000, 100, 600, 300])
    expect(Math.round(line.stages.slice(1).reduce((sum, one) => sum + one.width, 0))).toBe(100)
    expect(timeline('2026-01-01T00:00:00Z', undefined, {}).stages[0]!.us).toBe(1)
    expect(detailOf({ opened: { peer: 'p' }, closed: { guard_us: 5 } })).toEqual({ peer: 'p', guard_us: 5 })
    expect(detailOf({ opened: null })).toEqual({})
    const measured = timeline('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001Z', { upstream_us: 600, stages: { end_us: 5, guard_in_us: 10, agent_us: 600, rest_us: 0 } })
    expect(measured.exact).toBe(true)
    expect(measured.stages.map((one) => [one.name, one.us, one.kind])).toEqual([
      [s.stageAll, 1000, 'rest'], [s.stages.guard_in_us, 10, 'guard'], [s.stages.agent_us, 600, ''], [s.stages.end_us, 5, ''], [s.stageRest, 385, 'rest'],
    ])
  })
})

describe('search, snippets, roles, problems', () => {
  it('finds beginnings before middles', () => {
    const entry = (label: string) => ({ label, kind: '', to: label })
    const all = ['my-echo', 'echo', 'Audit', 'travel-planner'].map(entry)
    expect(matches(all, 'echo').map((one) => one.label)).toEqual(['echo', 'my-echo'])
    expect(matches(all, 'plan').map((one) => one.label)).toEqual(['travel-planner'])
    expect(matches(all, 'adt').map((one) => one.label)).toEqual(['Audit'])
    expect(matches(all, '').length).toBe(4)
    expect(matches(all, 'zzz')).toEqual([])
  })
  it('writes calls with the key, or with where it comes from', () => {
    const place = { base: 'http://gw', tenant: 't', name: 'echo' }
    for (const language of ['curl', 'python', 'javascript', 'chancery'] as const) {
      expect(snippet(language, place)).toContain('http://gw/a2a/t/echo')
      expect(snippet(language, place)).toContain('API_KEY')
      expect(snippet(language, { ...place, key: 'sk_1' })).toContain('sk_1')
    }
  })
  it('offers what a role may do', () => {
    const me = { name: 'a', way: 'session', roles: [{ role: 'operator' as const, tenant: 'acme' }] }
    expect([may(me, 'acme', 'operate'), may(me, 'acme', 'administer'), may(me, 'other', 'read'), may(null, 'acme', 'read')]).toEqual([true, false, false, false])
  })
  it('keeps what a refusal says', () => {
    const problem = problemOf(400, { code: 'invalid', message: 'm', fields: [{ path: 'spec.roles.0.tenant', problem: 'p' }], correlation_id: 'c' })
    expect(problem).toBeInstanceOf(Problem)
    expect([problem.of('tenant'), problem.of('name'), problem.correlation]).toEqual(['p', undefined, 'c'])
    expect(problemOf(502, null).message).toContain('failed')
  })
})
