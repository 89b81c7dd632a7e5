// Who may do what and how much, without a browser.

import { describe, expect, it } from 'vitest'
import type { Card, Grant, Issuer, Principal } from '../api/shapes'
import { grantName, granteeOf, grantsOf, groupsOf, selectors, selects } from './access'
import { pairsOf, proofsOf, specOf } from './issuer'
import { callLimits, fullest, mergedLimits, quotas, withLimit, type Use } from './quota'
import { actionsOf, ACTIONS, ruleText, without } from './rules'
import { credentialOf } from './secret'
import { changed } from './settings'

const grant = (name: string, spec: object) => ({ name, spec: { cards: [], operations: [], ...spec } }) as unknown as Grant
const principal = (name: string, groups?: string[]) => ({ name, spec: groups ? { groups } : {} }) as unknown as Principal
const card = (name: string, tags?: string[]) => ({ name, spec: tags ? { tags } : {} }) as unknown as Card

describe('grants', () => {
  it('select cards by name, by tag and as any', () => {
    const reached = (cards: string[]) => [card('echo'), card('ledger', ['finance', 'slow'])].filter((one) => selects(grant('g', { cards }), one)).map((one) => one.name)
    expect(reached(['echo'])).toEqual(['echo'])
    expect(reached(['tag:finance'])).toEqual(['ledger'])
    expect(reached(['tag:fin', 'ech'])).toEqual([])
    expect(reached(['*'])).toEqual(['echo', 'ledger'])
    expect(selectors([card('echo'), card('ledger', ['slow', 'finance'])])).toEqual(['*', 'tag:finance', 'tag:slow', 'echo', 'ledger'])
  })
  it('are a principal’s own and those of its groups', () => {
    const all = [grant('own', { principal: 'bot' }), grant('team', { group: 'finance' }), grant('others', { group: 'sales' }), grant('foreign', { principal: 'else' })]
    expect(grantsOf(all, principal('bot', ['finance'])).map((one) => one.name)).toEqual(['own', 'team'])
    expect(all.map(granteeOf).map((one) => `${one.kind} ${one.name}`)).toEqual(['principal bot', 'group finance', 'group sales', 'principal else'])
  })
  it('get names that are legal and free', () => {
    expect(grantName('Auditors of Acme', [])).toBe('auditors-of-acme')
    expect(grantName('bot', ['bot', 'bot-2'])).toBe('bot-3')
    expect(grantName('…', [])).toBe('grant')
    expect(grantName('x'.repeat(300), [])).toMatch(/^x{55}$/)
  })
})

describe('groups', () => {
  it('are what principals and grants name', () => {
    expect(groupsOf([principal('a', ['ops', 'dev']), principal('b', ['ops'])], [grant('g', { group: 'night' }), grant('h', { group: 'ops' }), grant('i', { principal: 'a' })])).toEqual([
      { name: 'dev', members: ['a'], grants: [] }, { name: 'night', members: [], grants: ['g'] }, { name: 'ops', members: ['a', 'b'], grants: ['h'] },
    ])
  })
})

describe('limits', () => {
  const use = (limits: object, used: object): Use => ({ kind: 'grant', name: 'g', limits, used: { concurrent: 0, streams: 0, ...used } }) as unknown as Use
  it('are shown with what is used of each that is set', () => {
    const all = quotas(use({ per_minute: 60, concurrent: 2, daily: 100 }, { left_in_minute: 45, concurrent: 2, daily: 7 }))
    expect(all).toEqual([{ name: 'per_minute', used: 15, most: 60, share: 0.25 }, { name: 'concurrent', used: 2, most: 2, share: 1 }, { name: 'daily', used: 7, most: 100, share: 0.07 }])
    expect(fullest(use({ daily: 10 }, { daily: 25 }))).toBe(1)
    expect(fullest(use({}, {}))).toBe(0)
    expect(quotas(use({ per_minute: 5 }, {}))).toEqual([{ name: 'per_minute', used: 0, most: 5, share: 0 }])
  })
  it('change without the others and without sizes of a card', () => {
    expect(withLimit({ daily: 5, streams: 1 }, 'daily', '')).toEqual({ streams: 1 })
    expect(withLimit({}, 'per_minute', '60')).toEqual({ per_minute: 60 })
    expect(callLimits({ daily: 5, request_bytes: 9, monthly: null })).toEqual({ daily: 5 })
    expect(mergedLimits({ request_bytes: 9, daily: 5 }, { monthly: 7 })).toEqual({ request_bytes: 9, monthly: 7 })
  })
})

describe('issuers', () => {
  const issuer = (name: string, spec: object) => ({ name, spec }) as unknown as Issuer
  it('are written without empty fields', () => {
    expect(specOf({ issuer: 'https://idp.test', jwks_uri: '', audiences: [], groups_claim: null }, [{ subject: 'u1', principal: 'bot' }, { subject: '', principal: 'x' }])).toEqual({ issuer: 'https://idp.test', principals: { u1: 'bot' } })
    expect(pairsOf({ principals: { a: 'b' } })).toEqual([{ subject: 'a', principal: 'b' }])
  })
  it('say which of their subjects a principal is', () => {
    const all = [
      issuer('corp', { principals: { u1: 'bot', u2: 'else' }, unlisted: 'by_name' }), issuer('certs', { kind: 'certificate', principals: { 'CN=bot': 'bot' }, state: 'disabled' }),
      issuer('strict', { principals: { bot: 'else' }, unlisted: 'by_name' }),
    ]
    expect(proofsOf(all, 'bot')).toEqual([
      { issuer: 'corp', kind: 'oidc', subject: 'u1', active: true, listed: true }, { issuer: 'corp', kind: 'oidc', subject: 'bot', active: true, listed: false },
      { issuer: 'certs', kind: 'certificate', subject: 'CN=bot', active: false, listed: true },
    ])
  })
})

describe('credentials and settings', () => {
  it('send the members of their type alone', () => {
    const fields = { token: 't', name: 'X-Key', value: 'v', audience: 'a', token_url: '', client_id: '' }
    expect(credentialOf({ type: 'none', fields })).toEqual({ type: 'none' })
    expect(credentialOf({ type: 'header', fields })).toEqual({ type: 'header', name: 'X-Key', value: 'v' })
    expect(credentialOf({ type: 'exchange', fields })).toEqual({ type: 'exchange', audience: 'a' })
    expect(credentialOf({ type: 'forward', fields })).toEqual({ type: 'forward' })
  })
  it('change one member and keep all others', () => {
    const spec = { policy: 'p', upstream: { interfaces: [1], colon: 'auto' } }
    expect(changed(spec, ['upstream', 'colon'], undefined)).toEqual({ policy: 'p', upstream: { interfaces: [1] } })
    expect(changed(spec, ['task_scope'], 'tenant')).toEqual({ ...spec, task_scope: 'tenant' })
    expect(spec.upstream.colon).toBe('auto')
  })
})

describe('rules', () => {
  it('are found by all that they say, and closed ones move up', () => {
    expect(ruleText({ id: 'words', name: 'Birds', words: ['Blue Heron'], action: 'block' })).toContain('blue heron')
    expect([...without(new Set([1, 4, 7]), 4)]).toEqual([1, 6])
    expect(actionsOf('injection', ACTIONS)).toEqual(['block', 'monitor', 'allow'])
    expect(actionsOf('words', ACTIONS)).toEqual(ACTIONS)
  })
})
