import { describe, expect, it } from 'vitest'
import { bodyOf } from './cardjson'
import { read, specOf, withMember, write } from './exact'

const TYPED = '{"name":"Digits","z":12345678901234567890,"a":1.10,"2":[1e2,-0.50,{}],"1":[],"t":"a\\"\\u00e9\\n","n":null,"y":true}'

describe('exact JSON', () => {
  it('keeps digits and order, which the browser does not', () => {
    const text = write(read(TYPED))
    expect(text.replace(/\n\s*/g, '').replace(/": /g, '":')).toBe(TYPED.replace('\\u00e9', 'é'))
    expect(write(read(text))).toBe(text)
    expect(JSON.stringify(JSON.parse(TYPED))).not.toContain('12345678901234567890')
  })
  it('refuses what is no JSON', () => {
    for (const bad of ['', '{', '[1,]', '{"a" 1}', '01', '1.', '.5', '+1', 'nul', '"\n"', '{"a":1}x', '{a:1}', "'a'", '['.repeat(300)]) {
      expect(() => read(bad), bad).toThrow()
    }
  })
  it('edits a spec without what only reads show', () => {
    const spec = specOf(`{"kind":"Card","revision":7,"spec":{"card":${TYPED},"trust_tier":"signed","state":"draft","version":3}}`)
    expect(spec).toContain('"z": 12345678901234567890')
    expect(spec).toContain('"a": 1.10')
    expect(spec).not.toContain('trust_tier')
    expect(JSON.parse(spec)).toMatchObject({ state: 'draft', card: { name: 'Digits' } })
    expect(JSON.parse(spec)).not.toHaveProperty('version')
  })
  it('sends a card as it was typed', () => {
    const body = bodyOf('digits', TYPED, { visibility: 'tenant', upstream: { credential: { type: 'none' } } }, [{ url: 'http://a.test/' }])
    expect(body).toContain(`"card":${TYPED}`)
    expect(JSON.parse(body)).toMatchObject({
      name: 'digits', spec: { visibility: 'tenant', state: 'approved', upstream: { credential: { type: 'none' }, interfaces: [{ url: 'http://a.test/' }] }, card: { name: 'Digits' } },
    })
    expect(withMember({}, 'spec', '{}')).toBe('{"spec":{}}')
  })
})
