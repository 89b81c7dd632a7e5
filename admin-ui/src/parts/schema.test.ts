// Completion and checks of agent cards, in an editor without a window.

import { CompletionContext } from '@codemirror/autocomplete'
import { json } from '@codemirror/lang-json'
import { EditorState } from '@codemirror/state'
import { describe, expect, it } from 'vitest'
import schemas from './agentcard.schema.json'
import { cardOf, ofCard } from './cardjson'
import { cardLint, complete } from './complete'
import { placeOfLine } from './place'
import { addressesOf, EXAMPLE_CARD, generation, misfits, rootOf, type Cards } from './schema'

const cards = schemas as Cards

/** The labels that are offered at `|`. */
function offered(marked: string): string[] {
  const at = marked.indexOf('|')
  const state = EditorState.create({ doc: marked.replace('|', ''), extensions: [json()] })
  return (complete(new CompletionContext(state, at, true))?.options ?? []).map((one) => one.displayLabel ?? one.label)
}

describe('completion', () => {
  it('offers the members that are not there yet, of the generation that is written', () => {
    expect(offered('{|}')).toEqual(expect.arrayContaining(['name', 'supportedInterfaces', 'url', 'preferredTransport']))
    const v10 = offered('{"supportedInterfaces": [], "name": "x", |}')
    expect(v10).toContain('securityRequirements')
    for (const other of ['name', 'url', 'preferredTransport', 'security']) expect(v10).not.toContain(other)
    const v03 = offered('{"protocolVersion": "0.3.0", |}')
    expect(v03).toEqual(expect.arrayContaining(['additionalInterfaces', 'security', 'supportsAuthenticatedExtendedCard']))
    expect(v03).not.toContain('supportedInterfaces')
  })
  it('knows where it is: in lists, in maps, at values', () => {
    expect(offered('{"supportedInterfaces": [{"url": "https://a.test", |}]}')).toEqual(['protocolBinding', 'protocolVersion', 'tenant'])
    expect(offered('{"supportedInterfaces": [{"protocolBinding": |}]}')).toEqual(['JSONRPC', 'HTTP+JSON', 'GRPC'])
    expect(offered('{"supportedInterfaces": [{"protocolBinding": "|"}]}')).toEqual(['JSONRPC', 'HTTP+JSON', 'GRPC'])
    expect(offered('{"capabilities": {"streaming": |}}')).toEqual(['true', 'false'])
    expect(offered('{"url": "https://a.test", "securitySchemes": {"mine": {"type": |}}}')).toEqual(['apiKey', 'http', 'oauth2', 'openIdConnect', 'mutualTLS'])
    expect(offered('{"skills": [{"id": "a"}, {"|"}]}')).toEqual(expect.arrayContaining(['id', 'name', 'tags']))
    expect(offered('{"skills": [|]}')).toEqual([])
  })
})

describe('checks', () => {
  it('find nothing in an example of each generation', () => {
    expect(misfits(rootOf(cards, EXAMPLE_CARD), EXAMPLE_CARD)).toEqual([])
    const { supportedInterfaces: _, ...rest } = EXAMPLE_CARD
    const old = { ...rest, protocolVersion: '0.3.0', url: 'https://agent.example.com', preferredTransport: 'JSONRPC' }
    expect([generation(EXAMPLE_CARD), generation(old)]).toEqual(['v10', 'v03'])
    expect(misfits(rootOf(cards, old), old)).toEqual([])
  })
  it('mark what is wrong where it is, and what is missing as missing', () => {
    const wrong = { ...EXAMPLE_CARD, version: 1, skills: [{ id: 'a', name: 'A', description: 'd', tags: 'chat' }], mine: { any: 1 } }
    expect(misfits(cards.v10, wrong).map((one) => `${one.path.join('.')} ${one.severity}`)).toEqual(['version error', 'skills.0.tags error'])
    expect(misfits(cards.v10, {}).map((one) => one.problem.split(' ')[0])).toEqual(expect.arrayContaining(['name', 'skills', 'supportedInterfaces']))
    const text = JSON.stringify(wrong, null, 2)
    const marked = cardLint(EditorState.create({ doc: text })).map((one) => text.slice(one.from, one.to))
    expect(marked).toEqual(['"version"', '"tags"'])
    expect(cardLint(EditorState.create({ doc: '{"name": ' }))).toEqual([])
  })
})

describe('cards from JSON', () => {
  it('name the addresses of their agent once each', () => {
    expect(addressesOf(EXAMPLE_CARD)).toEqual([{ url: 'https://agent.example.com/a2a', binding: 'JSONRPC', version: '1.0' }])
    expect(addressesOf({ url: 'https://a.test', additionalInterfaces: [{ url: 'https://a.test', transport: 'JSONRPC' }, { url: 'https://a.test/rest', transport: 'HTTP+JSON' }, 7] })).toEqual([
      { url: 'https://a.test', binding: 'JSONRPC', version: '0.3' }, { url: 'https://a.test/rest', binding: 'HTTP+JSON', version: '0.3' },
    ])
    for (const none of [undefined, null, [], 'x', {}, { supportedInterfaces: 'x' }]) expect(addressesOf(none)).toEqual([])
    expect([cardOf('[]'), cardOf('{'), cardOf('null')]).toEqual([undefined, undefined, undefined])
  })
  it('take the API’s problems to their place in the card', () => {
    expect(ofCard([{ path: 'spec.card.skills.0.tags', problem: 'p' }, { path: 'name', problem: 'q' }])).toEqual([{ path: 'skills.0.tags', problem: 'p' }])
  })
})

describe('places by line', () => {
  it('are those that a problem names', () => {
    const text = 'one\ntw\u{1f600}o three\nfour'
    const marked = (problem: string) => { const { from, to } = placeOfLine(text, problem); return text.slice(from, to) }
    expect([marked('line 2, column 5: what'), marked('line 3: x'), marked('are too many'), marked('line 99, column 99: x')]).toEqual([' three', 'four', 'one', ''])
  })
})
