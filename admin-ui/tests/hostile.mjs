// Hostile texts in every field that the page shows: of what administrators and agents write, by the API; of what is
// recorded, in the database; of what the API answers and the feed brings, played to the page. Text stays text.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { ADMIN, AGENTS, another, api, check, env, PASSWORD, payloads, put, rpc, settled, short, step, view, walk, WORK } from './kit.mjs'
import { drop, fieldsOf, grow, over } from './grow.mjs'

const cards = JSON.parse(readFileSync(new URL('../src/parts/agentcard.schema.json', import.meta.url), 'utf8'))
const described = JSON.parse(readFileSync(`${WORK}/openapi.json`, 'utf8')).components.schemas
/** Kind → field → how many payloads it holds. */
const held = new Map()

function count(kind, fields) {
  const of = held.get(kind) ?? held.set(kind, new Map()).get(kind)
  for (const field of fields) of.set(field, (of.get(field) ?? 0) + 1)
}

/**
 * Writes a document with the payload in every field that the API lets have it: what it refuses is taken out until it
 * refuses nothing more. `base` has what a document needs, `fixed` what the suite needs.
 */
async function plant(kind, method, path, payload, { grown, base = {}, fixed = {}, body = (spec) => ({ spec }), roots = ['spec', 'settings'] }) {
  const draft = structuredClone(grown ?? {})
  for (let tries = 0; tries < 40; tries++) {
    const answer = await api(method, path, body(over(over(base, draft), fixed)))
    if (answer.status < 300) {
      count(kind, fieldsOf(over(draft, fixed), payload))
      return answer.body
    }
    const named = (answer.body?.fields ?? []).map((field) => field.path)
    // From the end, so that what is taken out of a list moves nothing that is still to be taken out.
    if (named.sort().reverse().filter((one) => drop(draft, one, roots)).length === 0) {
      check(false, `${kind} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)} for ${payload}`)
      return undefined
    }
  }
  check(false, `${kind}: refused to the end for ${payload}`)
  return undefined
}

const T = '/tenants/hostile'
const upstream = { interfaces: [{ url: `${AGENTS}/a2a/echo`, binding: 'JSONRPC', version: '1.0' }] }
/** What is text among a card's settings, which the API describes as any JSON. */
const settings = (payload) => ({ tags: [payload], policy: payload, bound_principal: payload, reviewed: payload, upstream: { dialect: payload } })
/** What a rule of a policy may say in words of one's own. */
const rule = (payload, at) => [
  { id: 'words', name: payload, words: [payload], action: 'block' }, { id: 'pattern', name: payload, pattern: payload.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), action: 'block' }, { id: 'words', name: `rule-${at}`, words: [payload], action: 'block' },
]

/** Everything by the API: document number k carries payload k, in every field. */
async function byApi() {
  await put('POST', '/tenants', { name: 'hostile', spec: {} })
  await put('POST', `${T}/principals`, { name: 'caller', spec: {} })
  await put('POST', `${T}/grants`, { name: 'all', spec: { principal: 'caller', cards: ['*'], operations: ['*'] } })
  const { key } = await put('POST', `${T}/keys`, { principal: 'caller' })
  const echo = (await api('GET', '/tenants/default/cards/echo')).body.spec.card
  await put('POST', `${T}/cards`, { name: 'echo', spec: { card: echo, upstream } })
  for (const [at, payload] of payloads.entries()) {
    const grown = (name) => grow(described[name], payload, described)
    const named = (name) => ({ body: (spec) => ({ name, spec }) })
    await plant('tenant', 'POST', '/tenants', payload, { grown: grown('TenantSpec'), ...named(`t-${at}`) })
    for (const [generation, prefix] of [['v10', 'card'], ['v03', 'old']]) {
      const card = grow(cards[generation], payload)
      await plant(`card of ${generation === 'v10' ? '1.0' : '0.3'}`, 'POST', `${T}/cards`, payload, { grown: { card, ...settings(payload) }, base: { card: { name: 'x', description: 'x', version: '1', skills: [] } }, fixed: { state: 'draft', upstream }, ...named(`${prefix}-${at}`) })
    }
    await plant('principal', 'POST', `${T}/principals`, payload, { grown: grown('PrincipalSpec'), ...named(`p-${at}`) })
    await plant('key', 'POST', `${T}/keys`, payload, { grown: grown('NewKeySpec'), fixed: { principal: `p-${at}` }, body: (spec) => spec })
    await plant('grant', 'POST', `${T}/grants`, payload, { grown: { ...grown('GrantSpec'), principal: undefined, operations: undefined }, base: { cards: ['*'] }, fixed: { operations: ['send'] }, ...named(`g-${at}`) })
    await plant('issuer', 'POST', `${T}/issuers`, payload, { grown: { ...grown('IssuerDocument'), authorities: undefined, principals: { [payload]: 'caller' } }, base: { issuer: 'https://idp.invalid', audiences: ['a'] }, ...named(`i-${at}`) })
    await plant('policy', 'POST', `${T}/policies`, payload, { grown: { description: payload, detectors: rule(payload, at) }, base: { surfaces: ['a2a_inbound'] }, ...named(`r-${at}`) })
    await plant('token', 'POST', '/tokens', payload, { grown: grown('NewTokenSpec'), fixed: { roles: [{ role: 'auditor', tenant: 'hostile' }] }, body: (spec) => spec })
  }
  for (const at of [0, 10, 20, 30, 40]) await plant('administrator', 'POST', '/admins', payloads[at], { grown: grow(described.AdminSpec, payloads[at], described), fixed: { roles: [{ role: 'auditor', tenant: 'hostile' }] }, body: (spec) => ({ name: `mallory-${at}`, password: PASSWORD, spec }) })
  return key
}

/** What callers can bring into the audit: method, ids, metadata, names of extensions, webhooks. */
async function byCalls(key) {
  for (const payload of payloads) {
    const text = payload.replace(/[\u0000-\u001f]/g, '')
    const webhook = { id: text, taskId: text, url: text, token: text, authentication: { scheme: text, credentials: text } }
    const message = { messageId: text, contextId: text, taskId: text, role: 'ROLE_USER', parts: [{ text }], metadata: { [text]: text }, extensions: [text] }
    const head = { 'User-Agent': encodeURI(text).slice(0, 200), 'X-Brutor-Run-Id': encodeURI(text).slice(0, 60), 'A2A-Extensions': encodeURI(text).slice(0, 60) }
    await rpc('hostile', 'echo', key, 'GetTask', { id: text }, head)
    await rpc('hostile', 'echo', key, text, {}, head)
    await rpc('hostile', 'echo', key, 'SendMessage', { message, configuration: { taskPushNotificationConfig: webhook } }, head)
    await rpc('hostile', 'echo', key, 'CreateTaskPushNotificationConfig', webhook, head)
  }
  count('webhook', Object.keys({ id: 0, taskId: 0, url: 0, token: 0, scheme: 0, credentials: 0 }))
  for (const field of held.get('webhook').keys()) held.get('webhook').set(field, payloads.length)
}

/** Records with the payload in every text that a record can have: past the gateway, which would not write most of them. */
const RECORD = `
import json, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], timeout=60)
now = int(time.time() * 1000000)
given = json.load(sys.stdin)
for k, one in enumerate(given['records']):
    row = dict(writer='w-hostile', seq=k, tenant='hostile', at_open=now - k * 1000, at_close=now - k * 1000 + 900, status=200, chain_root=one['columns']['correlation_id'], document=json.dumps(one['document']).encode(), **one['columns'])
    db.execute('INSERT INTO audit_records (%s) VALUES (%s)' % (', '.join(row), ', '.join('?' * len(row))), list(row.values()))
for k, text in enumerate(given['texts']):
    db.execute('INSERT INTO audit_summaries (writer, tenant, reason, source, window_start, count) VALUES (?, ?, ?, ?, ?, ?)', ('w-hostile', 'hostile', text, text, now - k, 1))
db.commit()
`
function record(text) {
  const columns = Object.fromEntries(['principal', 'key_id', 'card', 'operation', 'dialect', 'fault', 'correlation_id', 'task_id'].map((name) => [name, text]))
  const opened = Object.fromEntries(['card', 'principal', 'key_id', 'admin', 'peer', 'correlation_id', 'own_id', 'caller_correlation_id', 'trace_id', 'dialect', 'method', 'entrance'].map((name) => [name, text]))
  const finding = Object.fromEntries(['detector', 'surface', 'action', 'severity', 'pointer', 'hmac', 'by'].map((name) => [name, text]))
  const closed = Object.fromEntries(['operation', 'dialect', 'fault', 'reason', 'task_id', 'context_id', 'in_task', 'policy'].map((name) => [name, text]))
  const delegation = { root: text, parent: text, depth: 1, actor: text, subject: text, chain: `${text}>${text}` }
  return {
    columns: { ...columns, outcome: 'failed' },
    document: { opened: { tenant: 'hostile', ...opened, delegation, said: { [text]: text } }, closed: { outcome: 'failed', ...closed, status: 200, findings: [{ ...finding, count: 1 }, { ...finding, count: 2 }], events: 0, bytes_in: 1, bytes_out: 1, upstream_us: 1, guard_us: 1 } },
  }
}
function byRecords() {
  const records = payloads.map(record)
  execFileSync('python3', ['-c', RECORD, `${WORK}/data/chancery.db`], { input: JSON.stringify({ records, texts: payloads }) })
  for (const [at, one] of records.entries()) count('audit', fieldsOf(one, payloads[at]))
  records.forEach(() => count('refusals', ['reason', 'source']))
}

/** A payload as the page shows it, without white space: what is hidden in it has its code point told. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu
const shown = (payload) => payload.replace(HIDDEN, (one) => `U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`).replace(/\s+/g, '')

/** Nothing of what was said has become anything but text. */
async function isText(page, what) {
  const found = await page.evaluate(() => ({
    html: [...document.querySelectorAll('#content :is(img:not(.cm-widgetBuffer), iframe, object, embed, base, script, video, style:not([data-mantine-styles]), link, meta, marquee, math, template), #content form[action], #content [srcdoc]')].map((one) => one.outerHTML.slice(0, 80)),
    handlers: [...document.querySelectorAll('#root *')].flatMap((one) => [...one.attributes].filter((attribute) => /^on/i.test(attribute.name)).map((attribute) => attribute.name)),
    links: [...document.querySelectorAll('#content a[href]')].filter((link) => !/^(\/(?!\/)|https?:|#)/.test(link.getAttribute('href')) || (new URL(link.href).origin !== location.origin && link.rel !== 'noopener noreferrer')).map((link) => link.outerHTML.slice(0, 120)),
  }))
  check(found.html.length === 0, `${what}: markup came through: ${found.html.join(' ')}`)
  check(found.handlers.length === 0, `${what}: handlers came through: ${found.handlers.join(' ')}`)
  check(found.links.length === 0, `${what}: links ${found.links.join(' ')}`)
}

/** Waits until a payload can be read; a field that is edited has it as it is. */
async function shows(page, payload, scope = '#content') {
  await page.waitForFunction(([scope, shown, raw]) => {
    const place = document.querySelector(scope)
    if (!place) return false
    const fields = [...place.querySelectorAll('input, textarea')].map((one) => one.value.replace(/\s+/g, ''))
    return place.innerText.replace(/\s+/g, '').includes(shown) || fields.some((value) => value.includes(raw))
  }, [scope, shown(payload), payload.replace(/\s+/g, '')], { timeout: 10_000 })
}

/** Goes to a view as a link of the page does, so that hundreds of views are opened in a minute. */
async function turnTo({ page }, path, text, scope = '#content') {
  if (!page.url().startsWith(ADMIN)) await view(page, '/t/hostile/agents')
  await page.evaluate((path) => history.pushState(null, '', path), path)
  if (text === undefined) {
    await page.waitForFunction((path) => location.pathname === path && document.querySelector('#content h1'), new URL(path, ADMIN).pathname)
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    await settled(page)
  } else {
    await shows(page, text, scope).catch(() => check(false, `${path} shows ${JSON.stringify(text)}`))
  }
  await isText(page, path)
}

const lists = ['/tenants', '/changes', '/admins', '/admins?tab=tokens', ...['mission', 'agents', 'principals', 'groups', 'grants', 'limits', 'issuers', 'policies', 'audit', 'changes', 'conditions', 'signing-keys', 'register?from=json'].map((name) => `/t/hostile/${name}`)]
const ASKED = ['audit?principal', 'audit?card', 'audit?outcome', 'audit?finding', 'audit?context_id', 'audit?root', 'mission?card', 'mission?finding', 'limits?kind', 'explain?principal=p-0&card', 'explain?principal=caller&card=echo&groups', 'issuers?make', 'agents/card-0?tab']

/** Each detail with its payload, each list, and payloads in the address. */
function places() {
  const details = payloads.flatMap((payload, at) => [
    [`/t/hostile/agents/card-${at}`, payload], [`/t/hostile/agents/old-${at}`, payload], [`/t/hostile/principals/p-${at}`, payload], [`/t/hostile/policies/r-${at}`, payload],
    [`/t/hostile/issuers/i-${at}`], [`/t/hostile/grants/g-${at}`], [`/t/hostile/exchanges/${encodeURIComponent(payload)}`, payload, 'section[aria-label="Facts"]'], [`/t/hostile/groups?group=${encodeURIComponent(payload)}`, payload],
    ...(at % 10 === 0 ? ['source', 'revisions', 'settings', 'card', 'use'].map((tab) => [`/t/hostile/agents/card-${at}?tab=${tab}`]) : []),
    [`/t/hostile/${ASKED[at % ASKED.length]}=${encodeURIComponent(payload)}`],
  ])
  return [...lists.map((path) => [path]), ...details]
}

/** What an agent answers and what is tried on a policy, all payloads at once. */
async function spoken(window) {
  const { page } = window
  const text = payloads.join('\n')
  await view(page, '/t/hostile/agents/echo?tab=try')
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText(/finished after/).waitFor()
  for (const payload of payloads) check((await page.locator('#content').innerText()).replace(/\s+/g, '').includes(shown(payload)), `the answer shows ${payload}`)
  await isText(page, 'an agent’s answer')
  await view(page, '/t/hostile/policies/r-0')
  await page.getByLabel('Text', { exact: true }).fill(text)
  await page.locator('.finding').first().waitFor()
  await isText(page, 'the bench of a policy')
}

/** Refusals of the API, and what the feed brings, with a payload in each text. */
async function answered({ page, watch }) {
  watch.refused = true
  let payload = ''
  await page.route('**/api/v1/tenants/hostile/cards?*', (route) => route.fulfill({ status: 400, json: { code: payload, message: payload, correlation_id: payload, fields: [{ path: payload, problem: payload }] } }))
  for (payload of payloads) {
    await turnTo({ page }, '/t/hostile/signing-keys')
    await turnTo({ page }, '/t/hostile/agents', payload, '#content [role="alert"]')
  }
  count('refusal of the API', ['code', 'message', 'correlation_id', 'fields[].path', 'fields[].problem'])
  for (const field of held.get('refusal of the API').keys()) held.get('refusal of the API').set(field, payloads.length)
}

async function fed() {
  const { page, context } = await another()
  const live = payloads.map((payload) => grow(described.LiveExchange, payload, described))
  await page.addInitScript((live) => {
    globalThis.EventSource = class extends EventTarget {
      constructor() {
        super()
        const say = (name, data) => this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }))
        setTimeout(() => {
          this.onopen?.(new Event('open'))
          for (const one of live) say('exchange', { ...one, tenant: 'hostile', opened_at: new Date().toISOString(), took_us: 1, upstream_us: 1, guard_us: 1, events: 1, would_block: true })
        }, 100)
      }
      close() {}
    }
  }, live)
  await view(page, '/t/hostile/mission')
  await page.getByRole('region', { name: 'Live' }).getByRole('row').nth(payloads.length).waitFor()
  const text = (await page.getByRole('region', { name: 'Live' }).last().innerText()).replace(/\s+/g, '')
  for (const [at, payload] of payloads.entries()) {
    check(text.includes(shown(payload)), `the feed shows ${payload}`)
    count('live feed', fieldsOf(live[at], payload))
  }
  await isText(page, 'the feed')
  await context.close()
}

/** A spreadsheet takes nothing of an export for a formula. */
async function exported() {
  const response = await fetch(`${ADMIN}/api/v1/audit/export/csv?tenant=hostile`, { headers: { Authorization: `Bearer ${env.ADMIN_TOKEN}` } })
  const cells = [...(await response.text()).matchAll(/(?:^|,|\n)("(?:[^"]|"")*"|[^,\n]*)/g)].map((one) => one[1].replace(/^"/, ''))
  check(response.ok && cells.length > payloads.length * 10, `an export of ${cells.length} cells`)
  const formulas = cells.filter((cell) => /^[=+\-@\t\r]./.test(cell))
  check(formulas.length === 0, `cells that a spreadsheet would run: ${formulas.slice(0, 5).join(' ; ')}`)
}

function tell() {
  let [pairs, fields] = [0, 0]
  for (const [kind, of] of held) {
    const sum = [...of.values()].reduce((all, one) => all + one, 0)
    console.log(`  ${kind}: ${of.size} fields, ${sum} fields × payloads`)
    fields += of.size
    pairs += sum
  }
  console.log(`  ${fields} fields, ${payloads.length} payloads, ${pairs} fields × payloads in all`)
  for (const kind of ['tenant', 'card of 1.0', 'card of 0.3', 'principal', 'policy', 'audit', 'webhook']) {
    const most = Math.max(0, ...(held.get(kind)?.values() ?? []))
    check(most === payloads.length, `${kind}: a field holds each payload (${most})`)
  }
}

export async function hostileSteps() {
  let visits = []
  await step('hostile texts are written into every field', async () => {
    const key = await byApi()
    await byCalls(key)
    byRecords()
  })
  await step('hostile texts are texts, on every view that shows them', async () => {
    visits = places()
    await walk(visits, async (window, [path, text, scope]) => {
      window.watch.refused = true
      await turnTo(window, path, text, scope).catch((error) => check(false, `${path}: ${short(error)}`))
    })
    console.log(`  ${visits.length} views opened`)
  })
  await step('hostile texts in answers, refusals, the feed and exports are texts', async () => {
    await walk([spoken, answered], (window, work) => work(window))
    await fed()
    await exported()
    tell()
  })
}
