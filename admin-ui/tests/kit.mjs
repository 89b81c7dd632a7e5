// What every part of the browser suite uses: windows that are watched, steps that are counted, the gateway's API, axe.

import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { chromium } from 'playwright-core'
import axe from 'axe-core'
import { playConditions } from './conditions.mjs'

export const { CHROMIUM, WORK, CHANCERY, AGENTS, PROVIDER, IMAGES_DIR, SDK_PYTHON, SDK_MODULES } = process.env
export const env = Object.fromEntries(readFileSync(`${WORK}/data/demo.env`, 'utf8').trim().split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
export const [ADMIN, GATEWAY] = [env.ADMIN_URL, env.GATEWAY_URL]
export const PASSWORD = 'correct horse battery'
export const payloads = JSON.parse(readFileSync(new URL('payloads.json', import.meta.url), 'utf8'))
/** As many as a machine with two cores shows at once. */
const WINDOWS = 2

export const problems = []
let current = 'start'
/** What is played to the page in place of conditions, where this gateway has none. */
export const played = { on: false, versions: [] }

export function check(fine, what) {
  if (!fine) {
    problems.push(`${current}: ${what}`)
    console.log(`  WRONG ${what}`)
  }
}

export async function step(name, work) {
  current = name
  const began = Date.now()
  const before = problems.length
  try {
    await work()
  } catch (error) {
    problems.push(`${name}: ${short(error)}`)
    console.log(`  ${problems.at(-1)}`)
    await page.screenshot({ path: `${WORK}/failed-${problems.length}.png` }).catch(() => undefined)
  }
  console.log(`${problems.length === before ? 'ok' : 'NOT OK'} ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`)
}

export const short = (error) => String(error.message ?? error).split('\n').slice(0, 4).join(' ')

export const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })

/** With DIST, the page as it lies in that folder in place of the one that is within the gateway, under the same headers. */
async function fromDist(context) {
  const { DIST } = process.env
  if (!DIST) return
  const headers = Object.fromEntries(['content-security-policy', 'x-content-type-options', 'referrer-policy'].map((name) => [name, served.headers.get(name) ?? '']))
  await context.route((url) => url.origin === ADMIN && !/^\/(api|readyz)/.test(url.pathname), (route) => {
    const { pathname } = new URL(route.request().url())
    const path = pathname !== '/' && existsSync(`${DIST}${pathname}`) ? pathname : '/index.html'
    return route.fulfill({ path: `${DIST}${path}`, headers: { ...headers, ...(path.endsWith('.js') ? { 'content-type': 'text/javascript' } : {}) } })
  })
}
const served = await fetch(ADMIN)

/**
 * A window whose every request, dialog and error is looked at. A step that makes errors on purpose sets `watch.quiet` to
 * false, one that has requests refused on purpose sets `watch.refused` to true.
 */
export async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 }, acceptDownloads: true, ...options })
  await fromDist(context)
  await playConditions(context, played)
  const page = await context.newPage()
  const watch = { quiet: true, refused: false }
  page.on('dialog', (dialog) => { problems.push(`${current}: a dialog: ${dialog.message()}`); void dialog.dismiss() })
  page.on('pageerror', (error) => problems.push(`${current}: page error: ${error.message}`))
  page.on('console', (message) => {
    const expected = !watch.quiet || (watch.refused && message.text().startsWith('Failed to load resource'))
    if (message.type() === 'error' && !expected) problems.push(`${current}: console: ${message.text()} (${page.url()})`)
  })
  page.on('request', (request) => {
    const url = request.url()
    if (url.startsWith(`${PROVIDER}/authorize?`) && request.isNavigationRequest()) return
    if (!url.startsWith(`${ADMIN}/`) && !url.startsWith('data:') && !url.startsWith('blob:')) problems.push(`${current}: a request to ${url}`)
  })
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 20_000))
  return { context, page, watch }
}

export const { context, page, watch } = await open({ colorScheme: 'light' })

/** Another window of the same session. */
export async function another(options = {}) {
  return open({ storageState: await context.storageState(), ...options })
}

/** Visits each item with one of a few windows side by side; each keeps its session, and is looked at as any other. */
export async function walk(items, visit, options = {}) {
  const left = [...items]
  const one = async () => {
    const window = await another(options)
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        await visit(window, item)
      } catch (error) {
        check(false, `${JSON.stringify(item)}: ${short(error)}`)
      }
    }
    await window.context.close()
  }
  await Promise.all(Array.from({ length: WINDOWS }, one))
}

/** Has what the page waits between its tries pass at once: what it says in the end is looked at, not how patient it is. */
export async function impatient(context) {
  await context.addInitScript(() => {
    const wait = globalThis.setTimeout
    globalThis.setTimeout = (then, after, ...more) => wait(then, after === 1000 || after === 2000 ? 5 : after, ...more)
  })
}

/** The same view in a theme: as the system changes it, so that nothing is loaded twice. */
export async function inTheme(page, theme) {
  await page.emulateMedia({ colorScheme: theme })
  await page.waitForFunction((theme) => document.documentElement.getAttribute('data-mantine-color-scheme') === theme, theme)
  // Two frames for what is drawn by script, and no colour halfway.
  await page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise((done) => requestAnimationFrame(done))
    for (const motion of document.getAnimations()) if (motion.effect?.getComputedTiming().iterations !== Infinity) motion.finish()
  })
}

/** Rules of axe that are not asked, each with its reason. All others are, also those that axe leaves out by itself. */
const UNASKED = {
  'color-contrast-enhanced': 'level AAA (7 to 1); the page holds to AA (4.5 to 1), which color-contrast asks',
}
export const axed = { runs: 0, rules: 0 }

export async function axeClean(page, what) {
  // Nothing is halfway into sight, where its colours are none of its own.
  await page.evaluate(() => { for (const motion of document.getAnimations()) if (motion.effect?.getComputedTiming().iterations !== Infinity) motion.finish() })
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  const { violations, rules } = await page.evaluate(async (unasked) => {
    const rules = globalThis.axe.getRules().map((rule) => rule.ruleId).filter((id) => !unasked.includes(id))
    const asked = Object.fromEntries([...rules.map((id) => [id, { enabled: true }]), ...unasked.map((id) => [id, { enabled: false }])])
    const { violations } = await globalThis.axe.run(document, { rules: asked, resultTypes: ['violations'] })
    return { violations, rules: rules.length }
  }, Object.keys(UNASKED))
  axed.runs += 1
  axed.rules = rules
  for (const one of violations) {
    check(false, `axe on ${what}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 140)} ${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ''}`).join(' | ')}`)
  }
}

export async function picture(page, name) {
  if (!IMAGES_DIR) return
  mkdirSync(IMAGES_DIR, { recursive: true })
  await page.screenshot({ path: `${IMAGES_DIR}/${name}.png`, animations: 'disabled' })
}

export async function settled(page) {
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'))
}

/** Opens a view and waits until it has what it shows. */
export async function view(page, path) {
  await page.goto(ADMIN + path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await settled(page)
}

export async function api(method, path, body, headers = {}) {
  const response = await fetch(`${ADMIN}/api/v1${path}`, {
    method, body: body === undefined ? undefined : JSON.stringify(body),
    headers: { Authorization: `Bearer ${env.ADMIN_TOKEN}`, 'Content-Type': 'application/json', ...headers },
  })
  const text = await response.text()
  return { status: response.status, body: text ? JSON.parse(text) : null }
}

/** A write that has to work; gives what was written. */
export async function put(method, path, body, headers) {
  const answer = await api(method, path, body, headers)
  check(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`)
  return answer.body
}

let said = 0
/** A call of an agent in plain JSON-RPC. */
export async function rpc(tenant, card, key, method, params, headers = {}) {
  const response = await fetch(`${GATEWAY}/a2a/${tenant}/${card}`, {
    method: 'POST', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'A2A-Version': '1.0', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return { status: response.status, text: await response.text() }
}
export async function call(tenant, card, key, text, more = {}) {
  return rpc(tenant, card, key, 'SendMessage', { message: { messageId: `m-${said++}`, role: 'ROLE_USER', parts: [{ text }], ...more } })
}

/** What parts are handed. */
export const kit = { step, check, axeClean, open, impatient, walk, api, call, picture, page, watch, context, played, WORK, ADMIN, AGENTS }
