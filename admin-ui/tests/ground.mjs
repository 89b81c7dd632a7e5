// What parts of the suite look at, made by the API: for a part that runs alone, in place of the parts that make it by hand.

import { execFileSync } from 'node:child_process'
import { api, call, check, context, played, put, WORK } from './kit.mjs'
import { GOOD, isBuiltIn, playConditions } from './conditions.mjs'
import { FILL } from './watching.mjs'

const ANY = { cards: ['*'], operations: ['*'] }

/** A tenant with an agent, a caller, and a policy that has stopped a call. */
async function lab() {
  await put('POST', '/tenants', { name: 'lab', spec: {} })
  const echo = (await api('GET', '/tenants/default/cards/echo')).body.spec
  await put('POST', '/tenants/lab/cards', { name: 'echo', spec: { card: echo.card, upstream: { interfaces: echo.upstream.interfaces } } })
  await put('POST', '/tenants/lab/principals', { name: 'lab-caller', spec: {} })
  await put('POST', '/tenants/lab/grants', { name: 'lab-caller', spec: { principal: 'lab-caller', ...ANY } })
  const detectors = [{ id: 'secret', action: 'redact' }, { id: 'injection', action: 'block' }, { id: 'words', name: 'phrases', words: ['blue heron'], action: 'block' }]
  await put('POST', '/tenants/lab/policies', { name: 'code-names', spec: { surfaces: ['a2a_inbound', 'a2a_outbound'], mode: 'enforce', detectors } })
  const tenant = (await api('GET', '/tenants/lab')).body
  await put('PUT', '/tenants/lab', { spec: { ...tenant.spec, default_policy: 'code-names' } }, { 'If-Match': String(tenant.revision) })
  const { key } = await put('POST', '/tenants/lab/keys', { principal: 'lab-caller' })
  for (const text of ['hello', 'where is the blue heron?']) await call('lab', 'echo', key, text)
  for (let tries = 0; tries < 100 && (await api('GET', '/audit?tenant=lab&outcome=blocked')).body.items.length === 0; tries++) await new Promise((done) => setTimeout(done, 100))
}

/** Somebody in a group, with grants that allow, deny and only watch, issuers, and a tenant that has nothing. */
async function access() {
  await put('POST', '/tenants', { name: 'bare', spec: {} })
  const echo = (await api('GET', '/tenants/lab/cards/echo')).body
  await put('PUT', '/tenants/lab/cards/echo', { spec: { upstream: { interfaces: echo.spec.upstream.interfaces }, tags: ['finance'] } }, { 'If-Match': String(echo.revision) })
  await put('POST', '/tenants/lab/principals', { name: 'finance-bot', spec: { groups: ['finance'], limits: { monthly: 1000 } } })
  await put('POST', '/tenants/lab/grants', { name: 'finance', spec: { group: 'finance', cards: ['tag:finance'], operations: ['send', 'stream', 'get', 'list', 'cancel', 'subscribe'], max_delegation_depth: 2, limits: { daily: 100 } } })
  await put('POST', '/tenants/lab/grants', { name: 'no-cancel', spec: { principal: 'finance-bot', effect: 'deny', cards: ['*'], operations: ['cancel'] } })
  await put('POST', '/tenants/lab/grants', { name: 'watch-stream', spec: { principal: 'finance-bot', effect: 'deny', mode: 'shadow', cards: ['*'], operations: ['stream'] } })
  await put('POST', '/tenants/lab/issuers', { name: 'corp', spec: { issuer: 'https://idp.invalid', audiences: ['chancery'], groups_claim: '/realm/groups', principals: { 'user-1': 'finance-bot' } } })
  await put('POST', '/tenants/lab/issuers', { name: 'certs', spec: { kind: 'certificate', principals: { 'CN=other': 'lab-caller' } } })
}

/** Conditions in two versions; played, where the gateway has none. */
async function conditions() {
  const [draft, spec] = [{ mode: 'shadow', policies: '@id("none")\nforbid (principal == Principal::"nobody", action, resource);' }, { mode: 'enforce', policies: GOOD }]
  if (!(await isBuiltIn(api))) {
    Object.assign(played, { on: true, versions: [draft, spec] })
    return playConditions(context, played)
  }
  const { revision } = await put('POST', '/tenants/lab/conditions', { name: 'house-rules', spec: draft })
  await put('PUT', '/tenants/lab/conditions/house-rules', { spec }, { 'If-Match': String(revision) })
}

/** A tenant with a tree of calls; not the many of the whole run. */
async function bulk() {
  await put('POST', '/tenants', { name: 'bulk', spec: {} })
  execFileSync('python3', ['-c', FILL, `${WORK}/data/chancery.db`, '100'])
}

const GROUNDS = { lab, access, conditions, bulk }
const made = new Set()

/** Has each of these, unless it is there. */
export async function need(names) {
  for (const name of names) if (!made.has(name)) await GROUNDS[name]()
  has(names)
}

/** These are there: a part has made them by hand. */
export function has(names) {
  for (const name of names) check(name in GROUNDS, `there is a ground ${name}`)
  for (const name of names) made.add(name)
}
