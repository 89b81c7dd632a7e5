// The page in a real browser, on a gateway of its own: the main job from the first start to a revoked key, every view in
// both themes under axe, hostile texts in every field, and what views say when things are wrong.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { chromium } from 'playwright-core'
import axe from 'axe-core'
import { ACCESS_NARROW, ACCESS_VIEWS, accessHostile, accessStates, accessSteps } from './access.mjs'
import { CHANGES_NARROW, CHANGES_VIEWS, changesSteps } from './changes.mjs'
import { CONDITIONS_NARROW, CONDITIONS_VIEWS, conditionsSteps, playConditions } from './conditions.mjs'
import { watchingSteps } from './watching.mjs'

const { CHROMIUM, WORK, CHANCERY, AGENTS, PROVIDER, IMAGES_DIR } = process.env
const env = Object.fromEntries(readFileSync(`${WORK}/data/demo.env`, 'utf8').trim().split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
const [ADMIN, GATEWAY] = [env.ADMIN_URL, env.GATEWAY_URL]
const setupLink = /http:\/\/\S+\/setup#\S+/.exec(readFileSync(`${WORK}/out.log`, 'utf8'))?.[0]
/** As many as a machine with two cores shows at once. */
const WINDOWS = 2
const PASSWORD = 'correct horse battery'
const payloads = JSON.parse(readFileSync(new URL('payloads.json', import.meta.url), 'utf8'))

const problems = []
let current = 'start'
/** What is played to the page in place of conditions, where this gateway has none. */
const played = { on: false, versions: [] }
function check(fine, what) {
  if (!fine) {
    problems.push(`${current}: ${what}`)
    console.log(`  WRONG ${what}`)
  }
}
async function step(name, work) {
  current = name
  const began = Date.now()
  const before = problems.length
  try {
    await work()
  } catch (error) {
    problems.push(`${name}: ${String(error.message ?? error).split('\n').slice(0, 4).join(' ')}`)
    console.log(`  ${problems.at(-1)}`)
    await page.screenshot({ path: `${WORK}/failed-${problems.length}.png` }).catch(() => undefined)
  }
  console.log(`${problems.length === before ? 'ok' : 'NOT OK'} ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`)
}

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
/** A window whose every request, dialog and error is looked at. `expected` names errors that a step makes on purpose. */
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, acceptDownloads: true, ...options })
  await playConditions(context, played)
  const page = await context.newPage()
  const watch = { quiet: true }
  page.on('dialog', (dialog) => { problems.push(`${current}: a dialog: ${dialog.message()}`); void dialog.dismiss() })
  page.on('pageerror', (error) => problems.push(`${current}: page error: ${error.message}`))
  page.on('console', (message) => { if (message.type() === 'error' && watch.quiet) problems.push(`${current}: console: ${message.text()}`) })
  page.on('request', (request) => {
    const url = request.url()
    if (url.startsWith(`${PROVIDER}/authorize?`) && request.isNavigationRequest()) return
    if (!url.startsWith(`${ADMIN}/`) && !url.startsWith('data:') && !url.startsWith('blob:')) problems.push(`${current}: a request to ${url}`)
  })
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 20_000))
  return { context, page, watch }
}
/** Visits each item with one of a few windows side by side; each keeps its session, and is looked at as any other. */
async function walk(items, visit, options = {}) {
  const left = [...items]
  const one = async () => {
    const window = await open({ storageState: await context.storageState(), ...options })
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        await visit(window, item)
      } catch (error) {
        check(false, `${JSON.stringify(item)}: ${String(error.message ?? error).split('\n').slice(0, 4).join(' ')}`)
      }
    }
    await window.context.close()
  }
  await Promise.all(Array.from({ length: WINDOWS }, one))
}
/** The same view in a theme: as the system changes it, so that nothing is loaded twice. */
async function inTheme(page, theme) {
  await page.emulateMedia({ colorScheme: theme })
  await page.waitForFunction((theme) => document.documentElement.getAttribute('data-mantine-color-scheme') === theme, theme)
  // Two frames for what is drawn by script, and no colour halfway.
  await page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise((done) => requestAnimationFrame(done))
    for (const motion of document.getAnimations()) if (motion.effect?.getComputedTiming().iterations !== Infinity) motion.finish()
  })
}
/** Rules whose answer depends on colours: all that can differ between the themes of one and the same document. */
const COLOUR_RULES = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }
const ALL_RULES = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }
async function axeClean(page, what, runOnly = ALL_RULES) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  const { violations } = await page.evaluate((runOnly) => globalThis.axe.run(document, { runOnly, resultTypes: ['violations'] }), runOnly)
  for (const one of violations) {
    check(false, `axe on ${what}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 140)} ${node.any[0]?.message ?? ''}`).join(' | ')}`)
  }
}
async function picture(page, name) {
  if (!IMAGES_DIR) return
  mkdirSync(IMAGES_DIR, { recursive: true })
  await page.screenshot({ path: `${IMAGES_DIR}/${name}.png`, animations: 'disabled' })
}
async function settled(page) {
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'))
}
async function api(method, path, body, headers = {}) {
  const response = await fetch(`${ADMIN}/api/v1${path}`, {
    method, body: body === undefined ? undefined : JSON.stringify(body),
    headers: { Authorization: `Bearer ${env.ADMIN_TOKEN}`, 'Content-Type': 'application/json', ...headers },
  })
  const text = await response.text()
  return { status: response.status, body: text ? JSON.parse(text) : null }
}
let said = 0
async function call(tenant, card, key, text, more = {}) {
  const message = { messageId: `m-${said++}`, role: 'ROLE_USER', parts: [{ text }], ...more }
  const response = await fetch(`${GATEWAY}/a2a/${tenant}/${card}`, {
    method: 'POST', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
  return { status: response.status, text: await response.text() }
}

const { context, page, watch } = await open({ colorScheme: 'light' })
let key = ''

await step('first run: the link makes the first account', async () => {
  await page.goto(ADMIN)
  await page.getByText('has no accounts yet').waitFor()
  await axeClean(page, 'sign-in')
  await page.goto(setupLink)
  await page.getByRole('heading', { name: 'Make the first account' }).waitFor()
  check(!page.url().includes('#'), 'the word is gone from the address')
  await axeClean(page, 'set-up')
  await page.getByLabel('Name').fill('ada')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByLabel('Repeat the password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Mission Control' }).waitFor()
})

await step('sign out and in again', async () => {
  await page.getByRole('button', { name: 'Account: ada' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByLabel('Name').fill('ada')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Mission Control' }).waitFor()
})

await step('sign in at the provider, and be refused there', async () => {
  const other = await open({ colorScheme: 'dark' })
  const button = other.page.getByRole('link', { name: "Sign in with the test's provider" })
  await other.page.goto(`${ADMIN}/t/default/agents`)
  await button.click()
  await other.page.getByRole('heading', { name: 'Agents', exact: true }).waitFor()
  check(new URL(other.page.url()).pathname === '/t/default/agents', `back at the view: ${other.page.url()}`)
  await other.page.getByRole('button', { name: 'Account: ann@example.com' }).click()
  check(await other.page.getByRole('menuitem', { name: 'Change password' }).count() === 0, 'no password to change')
  await other.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await fetch(`${PROVIDER}/become?groups=choir`)
  await button.click()
  await other.page.getByRole('alert').getByText('none of your groups has a role here').waitFor()
  check(!other.page.url().includes('sso='), 'the word is gone from the address')
  await axeClean(other.page, 'sign-in with a refusal')
  await other.context.close()
  await page.goto(`${ADMIN}/admins`)
  await page.getByRole('row', { name: /ann@example.com.*Single sign-on/ }).waitFor()
  await axeClean(page, 'accounts of two sources')
})

await step('make a tenant and register echo from its address', async () => {
  const began = Date.now()
  await page.goto(`${ADMIN}/tenants`)
  await page.getByRole('button', { name: 'New tenant' }).click()
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('lab')
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page.getByLabel('Address of the agent').fill(`${AGENTS}/a2a/echo`)
  await axeClean(page, 'register: address')
  await page.getByRole('button', { name: 'Read the card' }).click()
  await page.getByRole('heading', { name: 'Worth knowing' }).waitFor()
  await axeClean(page, 'register: found')
  await picture(page, 'register-light')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByLabel('Name here').fill('echo')
  await page.getByLabel('Principal’s name').fill('lab-caller')
  await axeClean(page, 'register: access')
  await page.getByRole('button', { name: 'Save as a draft' }).click()
  await page.getByLabel('Message').fill('is anybody there?')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('It works.').waitFor()
  check(await page.locator('.code').getByText('is anybody there?').count() > 0, 'the answer is shown')
  await axeClean(page, 'register: test call')
  const early = await fetch(`${GATEWAY}/.well-known/agent-card/lab/echo`)
  check(early.status === 404, `a draft is not served (${early.status})`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('.panel').getByRole('button', { name: 'Publish', exact: true }).click()
  await page.getByText('echo is published').waitFor()
  key = await page.getByTestId('key').innerText()
  await axeClean(page, 'register: published')
  console.log(`  from an address to a published agent: ${((Date.now() - began) / 1000).toFixed(1)} s for a machine`)
})

await step('the calls to copy work as they are', async () => {
  const snippet = async (tab) => {
    await page.getByRole('tab', { name: tab, exact: true }).click()
    return page.locator(`pre[aria-label="${tab}"]`).innerText()
  }
  const shell = (text) => execFileSync('bash', ['-c', text], { encoding: 'utf8', env: { ...process.env, PATH: `${WORK}/bin:${process.env.PATH}` } })
  mkdirSync(`${WORK}/bin`, { recursive: true })
  execFileSync('ln', ['-sf', CHANCERY, `${WORK}/bin/chancery`])
  check(shell(await snippet('curl')).includes('hello'), 'curl')
  check(execFileSync('node', ['--input-type=module', '-e', await snippet('JavaScript')], { encoding: 'utf8' }).includes('hello'), 'JavaScript')
  check(shell(await snippet('chancery call')).includes('hello'), 'chancery call')
  check((await snippet('Python')).includes('create_client('), 'Python')
})

await step('an exchange appears live, with the principal that called', async () => {
  await page.goto(`${ADMIN}/t/lab/mission`)
  await page.getByText('as it happens').waitFor()
  const answer = await call('lab', 'echo', key, 'hello')
  check(answer.status === 200 && answer.text.includes('hello'), answer.text)
  const row = page.getByRole('region', { name: 'Live' }).getByRole('row').filter({ hasText: 'lab-caller' }).filter({ hasText: 'ok' })
  await row.first().waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  check(page.url().includes('paused=1'), 'a pause is in the address')
  await call('lab', 'echo', key, 'while paused')
  await page.getByText('paused, 1 waiting').waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await row.nth(1).waitFor()
})

await step('a phrase in a policy is blocked, and seen to be', async () => {
  await page.goto(`${ADMIN}/t/lab/policies`)
  await page.getByRole('button', { name: 'New policy' }).first().click()
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('code-names')
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page.getByRole('button', { name: 'Add a rule' }).click()
  await page.getByLabel('Phrases').and(page.locator('input')).fill('blue heron')
  await page.keyboard.press('Enter')
  await page.getByRole('switch', { name: 'Enforce' }).focus()
  await page.keyboard.press('Space')
  await page.getByLabel('Text', { exact: true }).fill('Where is the Blue Heron?')
  await page.getByText('blocked', { exact: true }).waitFor()
  check(await page.locator('.finding').innerText() === 'Blue Heron', 'the finding is marked')
  await axeClean(page, 'policy with bench')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved, and in force.').waitFor()
  await page.getByRole('button', { name: 'Make default' }).click()
  await page.getByRole('button', { name: 'No longer default' }).waitFor()
  await page.goto(`${ADMIN}/t/lab/mission?outcome=blocked&finding=words`)
  await page.getByText('as it happens').waitFor()
  const refused = await call('lab', 'echo', key, 'where is the blue heron?')
  check(!refused.text.includes('ROLE_AGENT') && refused.text.includes('error'), `not blocked: ${refused.text}`)
  await page.getByRole('region', { name: 'Live' }).getByRole('row').filter({ hasText: 'blocked' }).first().waitFor()
})

await step('an exchange opens to its timeline', async () => {
  await page.getByRole('region', { name: 'Live' }).getByRole('link').first().click()
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  await page.getByRole('region', { name: 'Findings' }).getByText('words:phrases').waitFor()
  check(!(await page.locator('main').innerText()).toLowerCase().includes('heron'), 'what was said is not shown')
  await page.getByText('Whole exchange').waitFor()
})

await step('the same search gives a CSV and JSON lines', async () => {
  await page.goto(`${ADMIN}/t/lab/audit`)
  await page.getByRole('region', { name: 'Audit' }).getByRole('row').nth(2).waitFor()
  for (const [item, sign] of [['CSV, safe for spreadsheets', 'correlation_id,task_id'], ['JSON lines', '"correlation_id":']]) {
    await page.getByRole('button', { name: 'Export' }).click()
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: item }).click()])
    const text = readFileSync(await download.path(), 'utf8')
    check(text.includes(sign) && text.includes('lab-caller'), `${item}: ${text.slice(0, 200)}`)
  }
})

const kit = { step, check, axeClean, open, walk, api, call, picture, page, watch, context, played, WORK, ADMIN, AGENTS }
const everyRecord = await watchingSteps(kit)

await step('the keyboard finds everything', async () => {
  await page.goto(`${ADMIN}/t/lab/mission`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search' }).fill('echo')
  await page.getByRole('option', { name: /echo/ }).first().waitFor()
  await axeClean(page, 'palette')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'echo' }).first().waitFor()
  await page.locator('main').focus()
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await page.getByRole('heading', { name: 'Principals' }).waitFor()
  // Every control has a visible focus: walk through the view by Tab.
  await page.locator('body').click({ position: { x: 2, y: 2 } })
  const seen = new Set()
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    const focus = await page.evaluate(() => {
      const at = document.activeElement
      if (!at || at === document.body) return null
      const box = at.getBoundingClientRect()
      const style = getComputedStyle(at)
      const marked = style.outlineStyle !== 'none' || style.boxShadow !== 'none' || style.borderColor !== ''
      return { name: `${at.tagName} ${at.textContent?.slice(0, 30)} ${at.getAttribute('aria-label') ?? ''}`, shown: box.width > 0 && box.height > 0, marked }
    })
    if (!focus) break
    check(focus.shown && focus.marked, `focus can be seen on ${focus.name}`)
    seen.add(focus.name)
  }
  check(seen.size > 12, `Tab reaches the controls (${seen.size})`)
})

await step('a revoked key is refused', async () => {
  await page.goto(`${ADMIN}/t/lab/principals/lab-caller`)
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').waitFor()
  await axeClean(page, 'confirmation')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('Revoked.').waitFor()
  const refused = await call('lab', 'echo', key, 'hello?')
  check(refused.status === 401, `refused: ${refused.status}`)
})

await step('edit, compare, restore', async () => {
  await page.goto(`${ADMIN}/t/lab/agents/echo?tab=source`)
  await page.locator('.cm-content').waitFor()
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.insertText('"visibility": "everybody",')
  watch.quiet = false
  await page.getByRole('button', { name: 'Save as a new version' }).click()
  await page.getByRole('alert').getByText('visibility').first().waitFor()
  await page.locator('.cm-lintRange-error, .cm-lint-marker-error').first().waitFor()
  watch.quiet = true
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('ArrowRight')
  for (let left = 0; left < '"visibility": "everybody",'.length; left++) await page.keyboard.press('Delete')
  await page.keyboard.insertText('"visibility": "tenant",')
  await page.getByRole('button', { name: 'Save as a new version' }).click()
  await page.getByText('Saved as a new version.').waitFor()
  await page.getByRole('tab', { name: 'Revisions' }).click()
  await page.locator('.diff .add').filter({ hasText: 'visibility' }).waitFor()
  await page.getByRole('button', { name: /version 1/ }).click()
  await page.getByRole('button', { name: 'Restore version 1' }).click()
  await page.getByText('Version 1 is in force again.').waitFor()
  const { body } = await api('GET', '/tenants/lab/cards/echo')
  check(body.spec.version === 3 && body.spec.visibility !== 'tenant', `restored: ${JSON.stringify(body.spec.visibility)}`)
})

await accessSteps(kit)
await conditionsSteps(kit)
await changesSteps({ ...kit, env, agent: `${AGENTS}/a2a/echo` })

await step('hostile texts are texts', async () => {
  const put = async (method, path, body) => {
    const answer = await api(method, path, body)
    check(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`)
    return answer.body
  }
  const at = (index) => payloads[index % payloads.length]
  await put('POST', '/tenants', { name: 'hostile', spec: { display_name: at(0) } })
  await put('POST', '/tenants/hostile/principals', { name: 'caller', spec: {} })
  await put('POST', '/tenants/hostile/grants', { name: 'all', spec: { principal: 'caller', cards: ['*'], operations: ['*'] } })
  const hostileKey = (await put('POST', '/tenants/hostile/keys', { principal: 'caller', label: at(2) })).key
  for (const payload of payloads) await put('POST', '/tenants/hostile/keys', { principal: 'caller', label: payload.slice(0, 60) })
  // A rule's name that the policy's own check refuses is none that could be shown; its words are free.
  const detectors = payloads.map((payload, index) => ({ id: 'words', name: payload.slice(0, 60), words: [`${payload} ${index}`], action: 'block' }))
  const judged = await api('POST', '/tenants/hostile/policies/draft/simulate', { texts: ['x'], spec: { surfaces: ['a2a_inbound'], detectors } })
  const refused = new Set((judged.body.fields ?? []).map((field) => Number(/detectors\.(\d+)/.exec(field.path)?.[1])))
  const legal = detectors.filter((_, index) => !refused.has(index)).slice(0, 5)
  const stored = [...legal, ...[0, 1, 2, 3, 4].map((rule) => ({ id: 'words', name: `rule-${rule}`, words: payloads.slice(rule * 10, rule * 10 + 10), action: 'block' }))]
  console.log(`  ${detectors.length - refused.size} hostile names of rules are legal`)
  await put('POST', '/tenants/hostile/policies', { name: 'rules', spec: { surfaces: ['a2a_inbound'], description: at(1), detectors: stored } })
  const card = (index) => ({
    name: at(index), description: at(index + 1), version: at(index + 2), provider: { organization: at(index + 3), url: at(4) }, iconUrl: at(36), documentationUrl: at(6),
    capabilities: { streaming: true }, defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
    skills: payloads.map((one, skill) => ({ id: `s${skill}`, name: one, description: at(index + skill + 1), tags: [at(index + skill + 2)] })).slice(0, index === 0 ? payloads.length : 1),
  })
  const seen = []
  for (let index = 0; index < payloads.length; index += 5) {
    const answer = await api('POST', '/tenants/hostile/cards', {
      name: `card-${index}`, spec: { state: 'draft', card: card(index), upstream: { interfaces: [{ url: `${AGENTS}/a2a/echo`, binding: 'JSONRPC', version: '1.0' }] } },
    })
    check(answer.status === 201, `card ${index}: ${JSON.stringify(answer.body)}`)
    seen.push(`/t/hostile/agents/card-${index}`)
  }
  await put('POST', '/tenants/hostile/cards', { name: 'echo', spec: { card: { ...card(0), name: 'Echo', description: 'plain', version: '1', provider: undefined, iconUrl: undefined, documentationUrl: undefined, skills: [{ id: 's', name: 'Echo', description: 'Echoes.', tags: ['echo'] }] }, upstream: { interfaces: [{ url: `${AGENTS}/a2a/echo`, binding: 'JSONRPC', version: '1.0' }] } } })
  for (const payload of payloads) {
    await fetch(`${GATEWAY}/a2a/hostile/echo`, { method: 'POST', headers: { Authorization: `Bearer ${hostileKey}`, 'Content-Type': 'application/json', 'A2A-Version': '1.0', 'User-Agent': encodeURI(payload).slice(0, 200) }, body: JSON.stringify({ jsonrpc: '2.0', id: payload, method: 'GetTask', params: { id: payload.replace(/[\u0000-\u001f]/g, '') } }) })
  }
  for (const [index, payload] of payloads.entries()) if (index % 10 === 0) await put('POST', '/tokens', { name: payload.slice(0, 90), roles: [{ role: 'auditor', tenant: 'hostile' }] })
  await put('POST', '/admins', { name: 'mallory', password: PASSWORD, spec: { display_name: at(0), roles: [{ role: 'auditor', tenant: 'hostile' }] } })
  const views = ['/tenants', '/admins', '/admins?tab=tokens', '/t/hostile/mission', '/t/hostile/agents', ...seen, '/t/hostile/agents/card-0?tab=source', '/t/hostile/agents/card-0?tab=revisions', '/t/hostile/principals', '/t/hostile/principals/caller', '/t/hostile/policies', '/t/hostile/policies/rules', '/t/hostile/audit', `/t/hostile/audit?principal=${encodeURIComponent('<img src=x onerror=alert(1)>')}`, ...(await accessHostile(put, payloads))]
  await walk(views, async (window, view) => {
    window.watch.quiet = !view.includes('principal=<') && !view.includes('principal=%3C')
    await window.page.goto(ADMIN + view)
    await window.page.getByRole('heading', { level: 1 }).waitFor()
    await settled(window.page)
    const found = await window.page.evaluate(() => ({
      html: document.querySelectorAll('#content img:not(.cm-widgetBuffer), #content iframe, #content object, #content embed, #content base, #content script, #content video').length,
      links: [...document.querySelectorAll('#content a[href]')].map((link) => link.getAttribute('href')).filter((href) => !/^(\/(?!\/)|https?:)/.test(href)),
    }))
    check(found.html === 0, `${view}: markup came through (${found.html})`)
    check(found.links.length === 0, `${view}: links ${found.links.join(' ')}`)
  })
  await page.goto(`${ADMIN}${seen[2]}`)
  await page.locator('.hidden-char').first().waitFor()
})

const VIEWS = [
  ['mission', '/t/default/mission', true], ['agents', '/t/default/agents', true], ['agent', '/t/default/agents/echo', false], ['agent-source', '/t/default/agents/echo?tab=source', false],
  ['agent-revisions', '/t/default/agents/echo?tab=revisions', false], ['agent-try', '/t/default/agents/echo?tab=try', false], ['agent-use', '/t/default/agents/echo?tab=use', false],
  ['agent-card', '/t/default/agents/echo?tab=card', false], ['register-address', '/t/default/register', false], ['principals', '/t/default/principals', false], ['principal', '/t/default/principals/demo-caller', false],
  ['policies', '/t/lab/policies', false], ['policy', '/t/lab/policies/code-names', true], ['policy-revisions', '/t/lab/policies/code-names?tab=revisions', false], ['signing-keys', '/t/default/signing-keys', false],
  ['audit', '/t/default/audit', false], ['settings', '/settings', false], ['tenants', '/tenants', false], ['admins', '/admins', false], ['tokens', '/admins?tab=tokens', false],
  ['empty-agents', '/t/partner/agents', false], ['empty-policies', '/t/partner/policies', false], ['empty-audit', '/t/partner/audit', false],
  ...ACCESS_VIEWS, ...CONDITIONS_VIEWS, ...CHANGES_VIEWS,
]

/** Something to look at: three callers, four agents, a stop and a failure. */
async function traffic() {
  for (let round = 0; round < 6; round++) {
    for (const card of ['echo', 'weather', 'travel-planner', 'approval']) await call('default', card, round % 3 ? env.API_KEY : env.SECOND_API_KEY, `round ${round}`)
    await call('default', 'flaky', env.API_KEY, 'hello')
  }
}

await step('every view is axe clean, light and dark', async () => {
  const exchange = (await api('GET', '/audit?tenant=lab&outcome=blocked&limit=1')).body.items[0].correlation_id
  await walk([...VIEWS, ['exchange', `/t/lab/exchanges/${exchange}`, true]], async ({ page }, [name, path, pictured]) => {
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto(ADMIN + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await settled(page)
    if (name === 'mission') {
      await page.getByText('as it happens').waitFor()
      await traffic()
      await page.getByRole('region', { name: 'Live' }).getByRole('row').nth(20).waitFor()
      await page.reload()
      await page.getByText('as it happens').waitFor()
      await traffic()
      await page.getByRole('region', { name: 'Live' }).getByRole('row').nth(20).waitFor()
      await page.locator('.recharts-area-curve').first().waitFor()
    }
    if (name === 'policy') await page.getByLabel('Text', { exact: true }).fill('Where is the Blue Heron? Its key is AKIAIOSFODNN7EXAMPLE.')
    if (name === 'policy') await page.locator('.finding').first().waitFor()
    if (name === 'exchange') await page.getByText('Whole exchange').waitFor()
    if (path.includes('source') || name === 'policy') await page.locator('.cm-content').waitFor()
    for (const theme of ['light', 'dark']) {
      await inTheme(page, theme)
      await axeClean(page, `${name} (${theme})`, theme === 'light' ? ALL_RULES : COLOUR_RULES)
      if (pictured) await picture(page, `${name}-${theme}`)
    }
  })
})

await everyRecord()

await step('a telephone shows it too', async () => {
  const phone = await open({ viewport: { width: 390, height: 780 }, storageState: await context.storageState() })
  for (const path of ['/t/default/mission', '/t/default/agents', '/t/default/register', '/t/lab/policies', '/t/lab/policies/code-names', '/t/default/audit', '/t/bulk/exchanges/tree-2', ...ACCESS_NARROW, ...CONDITIONS_NARROW, ...CHANGES_NARROW, '/settings']) {
    await phone.page.goto(ADMIN + path)
    await phone.page.getByRole('heading', { level: 1 }).waitFor()
    await settled(phone.page)
    const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    check(wide <= 1, `${path} is ${wide} px too wide`)
  }
  await phone.page.getByRole('button', { name: 'Menu' }).click()
  await phone.page.getByRole('link', { name: 'Agents' }).click()
  await phone.page.getByRole('heading', { name: 'Agents' }).waitFor()
  await axeClean(phone.page, 'agents on a telephone')
  await phone.context.close()
})

await step('views say what is wrong and what to do', async () => {
  const broken = await open({ storageState: await context.storageState() })
  broken.watch.quiet = false
  const answers = [[503, 'store_read_only', 'The database takes no writes'], [503, 'store_full', 'The database has no room left'], [500, 'internal', 'The gateway failed'], [503, 'unavailable', 'The database does not answer'], [403, 'forbidden', 'Your role does not allow this']]
  for (const [status, code, words] of answers) {
    await broken.page.route('**/api/v1/tenants/default/cards?*', (route) => route.fulfill({ status, json: { code, message: 'said', correlation_id: 'c-1' } }))
    await broken.page.goto(`${ADMIN}/t/default/agents`)
    await broken.page.getByText(words).waitFor()
    await axeClean(broken.page, `agents, ${status}`)
    await broken.page.unroute('**/api/v1/tenants/default/cards?*')
  }
  // Every view says so, whatever it reads; the two empty forms of issuers read nothing.
  const spared = /\/api\/v1\/(me|session|setup|live|health|tenants(\?|$))/
  await walk(VIEWS.filter(([name]) => !/register|settings|tenants|^issuer-new$|^certificates-new$/.test(name)), async (window, [name, path]) => {
    if (window.watch.quiet) await window.context.route('**/api/v1/**', (route) => (spared.test(route.request().url()) ? route.continue() : route.fulfill({ status: 503, json: { code: 'unavailable', message: 'said', correlation_id: 'c-1' } })))
    window.watch.quiet = false
    await window.page.goto(ADMIN + path)
    await window.page.getByText('The database does not answer').first().waitFor().catch(() => check(false, `${name} says that the database does not answer`))
  })
  const well = (await api('GET', '/health')).body
  const states = [
    [{ store: 'read_only' }, 'The database takes no writes'], [{ audit: { ...well.audit, state: 'full' } }, 'The audit spool is full'],
    [{ audit: { ...well.audit, state: 'failing' } }, 'Records can’t be written to disk'], [{ audit: { ...well.audit, store_failures: 7 } }, '7 tries failed'],
  ]
  for (const [part, words] of states) {
    await broken.page.route('**/api/v1/health', (route) => route.fulfill({ json: { ...well, ...part } }))
    await broken.page.goto(`${ADMIN}/t/default/mission`)
    await broken.page.getByText(words).waitFor()
    await axeClean(broken.page, `mission, ${words}`)
    await broken.page.unroute('**/api/v1/health')
  }
  await broken.page.route('**/api/v1/health', (route) => route.fulfill({ status: 503, json: { code: 'unavailable', message: 'said' } }))
  await broken.page.goto(`${ADMIN}/t/default/mission`)
  await broken.page.getByText('The database does not answer').first().waitFor()
  await broken.page.unroute('**/api/v1/health')
  await broken.page.route('**/api/v1/tenants/default/cards?*', (route) => route.abort())
  await broken.page.goto(`${ADMIN}/t/default/agents`)
  await broken.page.getByText('can’t be reached').first().waitFor()
  await broken.context.close()
})

await accessStates(kit)

await step('five hundred agents, and an agent that is down', async () => {
  const many = await open({ storageState: await context.storageState() })
  const spec = (await api('GET', '/tenants/default/cards/weather')).body
  const items = Array.from({ length: 500 }, (_, index) => ({ ...spec, name: `agent-${index}`, id: `card-${index}` }))
  await many.page.route('**/api/v1/tenants/default/cards?*', (route) => {
    const cursor = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
    const next = cursor + 200
    return route.fulfill({ json: { items: items.slice(cursor, next), ...(next < 500 ? { next_cursor: String(next) } : {}) } })
  })
  const began = Date.now()
  await many.page.goto(`${ADMIN}/t/default/agents`)
  await many.page.getByRole('link', { name: 'agent-499' }).waitFor()
  console.log(`  500 agents shown after ${Date.now() - began} ms`)
  await many.page.getByLabel('Filter this list').fill('agent-42')
  await many.page.getByText('11 of 500').waitFor()
  await many.page.unroute('**/api/v1/tenants/default/cards?*')
  const gone = await api('POST', '/tenants/lab/cards', { name: 'gone', spec: { card: spec.spec.card, upstream: { interfaces: [{ url: `${AGENTS}/a2a/nobody`, binding: 'JSONRPC', version: '1.0' }] } } })
  check(gone.status === 201, JSON.stringify(gone.body))
  await many.page.goto(`${ADMIN}/t/lab/agents/gone?tab=try`)
  await many.page.getByRole('button', { name: 'Send', exact: true }).click()
  await many.page.getByText(/Failed: |answered with a fault: /).waitFor()
  await many.context.close()
})

await step('two hundred exchanges a second leave the page quick', async () => {
  const busy = await open({ storageState: await context.storageState() })
  // The feed is played to the page, so that its own speed is what is measured.
  await busy.page.addInitScript(() => {
    class Feed extends EventTarget {
      constructor() {
        super()
        const say = (name, data) => this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }))
        setTimeout(() => this.onopen?.(new Event('open')), 10)
        let count = 0
        this.timer = setInterval(() => {
          for (let i = 0; i < 10; i++) say('exchange', { correlation_id: `c-${count++}`, tenant: 'default', opened_at: new Date().toISOString(), took_us: 1234, principal: 'bot', card: 'echo', operation: 'send', outcome: 'ok', events: 0, upstream_us: 1, guard_us: 1, findings: [], would_block: false })
        }, 50)
      }
      close() { clearInterval(this.timer) }
    }
    globalThis.EventSource = Feed
  })
  await busy.page.goto(`${ADMIN}/t/default/mission`)
  await busy.page.getByRole('region', { name: 'Live' }).getByRole('row').nth(100).waitFor()
  const frames = await busy.page.evaluate(() => new Promise((done) => {
    const times = []
    let last = performance.now()
    const tick = (now) => {
      times.push(now - last)
      last = now
      if (times.length < 180) requestAnimationFrame(tick)
      else done(times.sort((a, b) => a - b))
    }
    requestAnimationFrame(tick)
  }))
  console.log(`  frames: median ${frames[90].toFixed(1)} ms, p95 ${frames[171].toFixed(1)} ms, longest ${frames.at(-1).toFixed(0)} ms`)
  await busy.context.close()
})

await step('the first view comes fast', async () => {
  const cold = await open({ storageState: await context.storageState() })
  const began = Date.now()
  await cold.page.goto(`${ADMIN}/t/default/agents`)
  await cold.page.getByRole('link', { name: 'echo' }).waitFor()
  console.log(`  agents shown after ${Date.now() - began} ms`)
  await cold.context.close()
})

await browser.close()
if (problems.length > 0) {
  console.log(`\n${problems.length} problem(s):`)
  for (const problem of problems) console.log(`- ${problem}`)
  process.exit(1)
}
console.log('\nthe page passed')
