// What each view says when something is wrong, and when there is nothing, one of each, or hundreds.

import { ADMIN, another, api, axeClean, call, check, impatient, put, settled, step, view, walk } from './kit.mjs'
import { VIEWS } from './views.mjs'

/** What the frame of every view reads. It stays well, so that each view has to say for itself what it lacks. */
const FRAME = /\/api\/v1\/(me|session|setup|live|health|tenants(\?|$))/
const refusal = (status, code) => ({ status, json: { code, message: 'said', correlation_id: 'c-1' } })

/** Answer, what is said of it, and what to do. */
const WRONG = [
  [refusal(503, 'unavailable'), 'The database does not answer', 'nothing can be changed until the database is back'],
  [refusal(500, 'internal'), 'The gateway failed', 'The log has the details under the id below'],
  [refusal(503, 'store_full'), 'The database has no room left', 'Make room on the database’s disk'],
  [refusal(403, 'forbidden'), 'Your role does not allow this', 'said'],
]

async function everyViewSays() {
  // The two empty forms of issuers read nothing; settings and tenants read what the frame does, and are looked at below.
  const views = VIEWS.filter(([name]) => !/register|settings|tenants|^issuer-new$|^certificates-new$/.test(name))
  const visits = WRONG.slice(0, 2).flatMap((wrong) => views.map((one) => [one, wrong]))
  await walk(visits, async (window, [[name, path], [answer, words, advice]]) => {
    if (window.answer === undefined) {
      await impatient(window.context)
      await window.context.route('**/api/v1/**', (route) => (FRAME.test(route.request().url()) ? route.continue() : route.fulfill(window.answer)))
    }
    window.answer = answer
    window.watch.refused = true
    await window.page.goto(ADMIN + path)
    const alert = window.page.getByRole('alert').filter({ hasText: words }).first()
    await alert.waitFor({ timeout: 8_000 }).catch(() => check(false, `${name} says ${words}`))
    if (await alert.count() > 0) check((await alert.innerText()).includes(advice), `${name} says what to do about ${answer.json.code}`)
    await window.page.getByRole('button', { name: 'Try again' }).first().waitFor({ timeout: 2_000 }).catch(() => check(false, `${name} offers to try again after ${answer.json.code}`))
  })
  console.log(`  ${visits.length} views of ${WRONG.length} answers`)
}

async function oneViewSaysAll() {
  const { page, context, watch } = await another()
  await impatient(context)
  watch.refused = true
  for (const [answer, words, advice] of WRONG) {
    await page.route('**/api/v1/tenants/default/cards?*', (route) => route.fulfill(answer))
    await page.goto(`${ADMIN}/t/default/agents`)
    await page.getByText(words).waitFor()
    check((await page.locator('#content').innerText()).includes(advice), `agents say what to do about ${answer.json.code}`)
    await axeClean(page, `agents, ${answer.json.code}`)
    await page.unroute('**/api/v1/tenants/default/cards?*')
  }
  await page.route('**/api/v1/tenants/default/cards?*', (route) => route.abort())
  await page.goto(`${ADMIN}/t/default/agents`)
  await page.getByText('can’t be reached').first().waitFor()
  for (const [path, api] of [['/settings', '**/api/v1/health'], ['/tenants', '**/api/v1/tenants?*']]) {
    await page.route(api, (route) => route.fulfill(refusal(500, 'internal')))
    await page.goto(ADMIN + path)
    await page.getByRole('alert').getByText('The gateway failed').first().waitFor().catch(() => check(false, `${path} says that the gateway failed`))
    await page.unroute(api)
  }
  await context.close()
}

/** What the gateway's own health says, above every view. */
async function standing() {
  const { page, context, watch } = await another()
  await impatient(context)
  watch.refused = true
  const well = (await api('GET', '/health')).body
  const states = [
    [{ audit: { ...well.audit, state: 'full' } }, 'The audit spool is full'], [{ audit: { ...well.audit, state: 'failing' } }, 'Records can’t be written to disk'],
    [{ audit: { ...well.audit, store_failures: 7 } }, '7 tries failed'],
  ]
  for (const [part, words] of states) {
    await page.route('**/api/v1/health', (route) => route.fulfill({ json: { ...well, ...part } }))
    await page.goto(`${ADMIN}/t/default/mission`)
    await page.getByText(words).waitFor()
    await axeClean(page, `mission, ${words}`)
    await page.unroute('**/api/v1/health')
  }
  await page.route('**/api/v1/health', (route) => route.fulfill(refusal(503, 'unavailable')))
  await page.goto(`${ADMIN}/t/default/mission`)
  await page.getByText('The database does not answer').first().waitFor()
  await context.close()
}

/** Where something is written: view, what opens the form, what is filled in, what sends it. */
const WRITES = [
  ['/tenants', 'New tenant', { Name: 'late' }, 'Create'], ['/t/lab/principals', 'New principal', { Name: 'late' }, 'Create'], ['/t/lab/principals/finance-bot', 'New key', { Label: 'late' }, 'Create'],
  ['/t/lab/policies', 'New policy', { Name: 'late' }, 'Create'], ['/t/lab/policies/code-names', 'Make floor', {}, undefined], ['/t/lab/agents/echo', 'Disable', {}, 'Disable'],
  ['/t/lab/issuers/corp', 'Disable', {}, 'Disable'], ['/t/default/signing-keys', 'Retire', {}, 'Retire'], ['/t/lab/grants/finance', 'Edit', {}, 'Save'], ['/t/lab/conditions', 'Remove', { 'Type house-rules to confirm': 'house-rules' }, 'Remove'],
]

/** A store that takes no writes: every view says so, and every form that is refused. */
async function readOnly() {
  const well = (await api('GET', '/health')).body
  const prepare = async (window) => {
    if (window.ready) return
    window.ready = true
    window.watch.refused = true
    await window.context.route('**/api/v1/health', (route) => route.fulfill({ json: { ...well, store: 'read_only' } }))
    await window.context.route('**/api/v1/**', (route) => (['GET', 'HEAD'].includes(route.request().method()) || /simulate|check$|\/sign$|\/try$/.test(route.request().url()) ? route.fallback() : route.fulfill(refusal(503, 'store_read_only'))))
  }
  await walk(VIEWS, async (window, [name, path]) => {
    await prepare(window)
    await window.page.goto(ADMIN + path)
    await window.page.getByRole('status', { name: 'State of the gateway' }).getByText('The database takes no writes').waitFor({ timeout: 5_000 })
      .catch(() => check(false, `${name} says that the database takes no writes`))
  })
  await walk(WRITES, async (window, [path, opener, fields, send]) => {
    await prepare(window)
    const { page } = window
    await view(page, path)
    await page.getByRole('button', { name: opener, exact: true }).first().click()
    for (const [label, text] of Object.entries(fields)) await page.getByRole('dialog').getByLabel(label, { exact: true }).fill(text)
    if (send) await page.getByRole('dialog').getByRole('button', { name: send, exact: true }).click()
    await page.locator('[role="dialog"] [role="alert"], .toast.bad').first().waitFor({ timeout: 5_000 }).catch(() => check(false, `${path}, ${opener}: a refused write is told`))
  })
  console.log(`  ${VIEWS.length} views and ${WRITES.length} forms on a store that takes no writes`)
}

export async function stateSteps() {
  await step('every view says what is wrong and what to do', async () => {
    await everyViewSays()
    await oneViewSaysAll()
    await standing()
  })
  await step('every view and every form says that the database takes no writes', readOnly)
}

/** The views of a tenant, with what each says when there is nothing. */
const TENANT = [
  ['mission', 'No agents yet'], ['agents', 'No agents yet'], ['policies', 'No policies yet'], ['signing-keys', ''], ['principals', 'No principals yet'], ['groups', 'No groups yet'], ['grants', 'No grants yet'],
  ['conditions', 'No conditions'], ['explain', 'Ask whether somebody may do something'], ['limits', 'Nothing is limited'], ['issuers', 'No issuers'], ['audit', 'No records'], ['changes', ''], ['register', 'Address of the agent'],
]
/** More than one of one, or what a program says for nothing. */
const CLUMSY = /\b1 (?:agents|calls|errors|keys|members|grants|phrases|records|principals|policies|rules|events|exchanges|groups|issuers|days)\b|undefined|NaN|\[object/

async function clumsy(page, what) {
  const text = await page.locator('#content').innerText()
  check(!CLUMSY.test(text), `${what}: ${CLUMSY.exec(text)?.[0]}`)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  check(wide <= 1, `${what} is ${wide} px too wide`)
}

async function none() {
  await put('POST', '/tenants', { name: 'nothing', spec: {} })
  await walk(TENANT, async ({ page }, [name, words]) => {
    await view(page, `/t/nothing/${name}`)
    await page.getByText(words).first().waitFor({ timeout: 5_000 }).catch(() => check(false, `${name} of nothing says “${words}”`))
    const ways = await page.locator('#content :is(button, a, input)').count()
    check(ways > 0, `${name} of nothing has something to do`)
    await clumsy(page, `${name} of nothing`)
  })
}

/** A tenant with exactly one of everything, and one call. */
async function single() {
  const at = '/tenants/single'
  await put('POST', '/tenants', { name: 'single', spec: {} })
  const echo = (await api('GET', '/tenants/default/cards/echo')).body.spec
  await put('POST', `${at}/cards`, { name: 'only', spec: { card: echo.card, upstream: { interfaces: echo.upstream.interfaces } } })
  await put('POST', `${at}/principals`, { name: 'only', spec: { groups: ['only'], limits: { daily: 1 } } })
  await put('POST', `${at}/grants`, { name: 'only', spec: { group: 'only', cards: ['only'], operations: ['send'] } })
  await put('POST', `${at}/policies`, { name: 'only', spec: { surfaces: ['a2a_inbound'], mode: 'shadow', detectors: [{ id: 'words', name: 'only', words: ['hello'], action: 'block' }] } })
  await put('POST', `${at}/issuers`, { name: 'only', spec: { issuer: 'https://idp.invalid', audiences: ['a'], principals: { one: 'only' } } })
  const tenant = (await api('GET', at)).body
  await put('PUT', at, { spec: { ...tenant.spec, default_policy: 'only' } }, { 'If-Match': String(tenant.revision) })
  const { key } = await put('POST', `${at}/keys`, { principal: 'only' })
  check((await call('single', 'only', key, 'hello')).status === 200, 'the one call')
  for (let tries = 0; tries < 100 && (await api('GET', '/audit?tenant=single')).body.items.length === 0; tries++) await new Promise((done) => setTimeout(done, 100))
  const exchange = (await api('GET', '/audit?tenant=single')).body.items[0].correlation_id
  const details = ['agents/only', 'agents/only?tab=revisions', 'principals/only', 'grants/only', 'groups?group=only', 'policies/only', 'policies/only?tab=revisions', 'issuers/only', 'explain?principal=only&card=only', `exchanges/${exchange}`]
  await walk([...TENANT.map(([name]) => name), ...details], async ({ page }, name) => {
    await view(page, `/t/single/${name}`)
    if (name === 'mission') await page.getByText('as it happens').waitFor()
    await clumsy(page, `${name} of one`)
    if (['agents', 'principals', 'grants', 'groups', 'policies', 'issuers', 'limits'].includes(name)) await page.getByRole('link', { name: 'only', exact: true }).first().waitFor({ timeout: 5_000 }).catch(() => check(false, `${name} of one has it`))
  })
  console.log(`  ${TENANT.length} views of nothing, ${TENANT.length + details.length} of exactly one`)
}

async function hundreds() {
  const { page, context } = await another()
  const spec = (await api('GET', '/tenants/default/cards/weather')).body
  const items = Array.from({ length: 500 }, (_, index) => ({ ...spec, name: `agent-${index}`, id: `card-${index}` }))
  await page.route('**/api/v1/tenants/default/cards?*', (route) => {
    const cursor = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
    const next = cursor + 200
    return route.fulfill({ json: { items: items.slice(cursor, next), ...(next < 500 ? { next_cursor: String(next) } : {}) } })
  })
  const began = Date.now()
  await page.goto(`${ADMIN}/t/default/agents`)
  await page.getByRole('link', { name: 'agent-499' }).waitFor()
  console.log(`  500 agents shown after ${Date.now() - began} ms`)
  await page.getByLabel('Filter this list').fill('agent-42')
  await page.getByText('11 of 500').waitFor()
  for (const [name] of TENANT) {
    await view(page, `/t/default/${name}`)
    if (name === 'mission') await page.getByText('as it happens').waitFor()
    await clumsy(page, `${name} of 500 agents`)
  }
  // One is found among them, wherever an agent is chosen.
  await page.goto(`${ADMIN}/t/default/explain`)
  await page.getByRole('combobox', { name: 'Agent' }).first().fill('agent-499')
  await page.getByRole('option', { name: 'agent-499' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search' }).fill('agent-499')
  await page.getByRole('option', { name: /agent-499/ }).waitFor()
  await context.close()
}

/** An agent that nobody reaches: said where it is tried, listed, looked at and watched. */
async function down() {
  const { page, context } = await another()
  const card = (await api('GET', '/tenants/default/cards/weather')).body.spec.card
  await put('POST', '/tenants', { name: 'away', spec: {} })
  await put('POST', '/tenants/away/cards', { name: 'gone', spec: { card, upstream: { interfaces: [{ url: `${process.env.DOWN}/a2a/nobody`, binding: 'JSONRPC', version: '1.0' }] } } })
  await put('POST', '/tenants/away/principals', { name: 'caller', spec: {} })
  await put('POST', '/tenants/away/grants', { name: 'all', spec: { principal: 'caller', cards: ['*'], operations: ['*'] } })
  const { key } = await put('POST', '/tenants/away/keys', { principal: 'caller' })
  for (let turn = 0; turn < 3; turn++) await call('away', 'gone', key, 'hello?')
  for (let tries = 0; tries < 100 && (await api('GET', '/audit?tenant=away')).body.items.length < 3; tries++) await new Promise((done) => setTimeout(done, 100))
  await view(page, '/t/away/agents/gone?tab=try')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText(/Failed: |answered with a fault: /).waitFor()
  await view(page, '/t/away/agents')
  await page.getByText(/failing, \d+ errors/).waitFor()
  await view(page, '/t/away/agents/gone')
  await page.getByRole('region', { name: 'Health' }).getByText('failing').waitFor()
  await view(page, '/t/away/mission')
  await page.getByRole('region', { name: 'Agents' }).first().getByText('failing').waitFor()
  await axeClean(page, 'mission of an agent that is down')
  await view(page, '/t/away/audit')
  await page.getByRole('region', { name: 'Audit' }).getByRole('link').first().click()
  await page.getByText('Whole exchange').waitFor()
  await settled(page)
  const facts = await page.getByRole('region', { name: 'Facts' }).innerText()
  check(facts.includes('agent unreachable'), `the exchange says why: ${facts}`)
  await context.close()
}

export async function countSteps() {
  await step('with nothing, and with exactly one of everything', async () => {
    await none()
    await single()
  })
  await step('five hundred agents', hundreds)
}

export const downSteps = () => step('an agent that is down', down)
