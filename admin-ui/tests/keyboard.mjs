// The whole page by the keyboard alone, in a real browser: on every view each control is reached and can be seen to have
// the focus; menus, dialogs and the search palette open, hold the focus, close, and give it back.

import { ADMIN, axeClean, check, kit, open, page, settled, step, view, walk } from './kit.mjs'
import { install } from './keys.mjs'
import { everyView, opened } from './views.mjs'

/** Groups whose arrows have been walked, by their members: a group that many views have is walked once. */
const walked = new Set()
const totals = { views: 0, controls: 0, groups: 0, members: 0 }

async function ready(page) {
  await page.evaluate(install)
}

/** Tab from where the focus is to the end of the page, or once around `root` where the focus is held in it. */
async function tabThrough(page, root) {
  const wanted = await page.evaluate((root) => globalThis.keys.collect(root ?? document), root)
  const result = { wanted: wanted.tab, groups: wanted.groups, mouse: wanted.mouse, reached: new Set(), unseen: [], hidden: [], escaped: [] }
  const most = wanted.tab.length * 2 + 40
  let first
  // A view may begin with the focus in its first field: the walk goes past the end and on from the top.
  for (let presses = 0; presses < most; presses++) {
    await page.keyboard.press('Tab')
    const at = await page.evaluate((root) => globalThis.keys.at(root ?? undefined), root)
    if (at.left && !at.left.marked) result.unseen.push(at.left.name)
    if (at.id === undefined) continue
    if (at.id === first) break
    first ??= at.id
    result.reached.add(at.id)
    if (!at.onTop) result.hidden.push(at.name)
    if (root && !at.inside) result.escaped.push(at.name)
  }
  result.unreached = []
  for (const one of wanted.tab) if (!result.reached.has(one.id) && await page.evaluate((id) => globalThis.keys.isUsable(id), one.id)) result.unreached.push(one.name)
  return result
}

/** Each member of a group by its arrows; a full round ends where it began. */
async function arrows(page, group) {
  if (group.stop < 0) return group.names
  await page.evaluate((id) => globalThis.keys.focus(id), group.stop)
  const found = new Set()
  for (let presses = 0; presses < group.of.length; presses++) {
    await page.keyboard.press('ArrowRight')
    const at = await page.evaluate(() => globalThis.keys.at())
    // By its name: a choice may have the view drawn anew.
    if (at.id !== undefined) found.add(at.name)
  }
  return group.names.filter((name) => group.of.length > 1 && !found.has(name))
}

function report(path, { unseen, hidden, unreached, escaped, mouse }) {
  for (const name of new Set(unseen)) check(false, `${path}: the focus on ${name} can be seen`)
  for (const name of new Set(hidden)) check(false, `${path}: ${name} lies on top while it has the focus`)
  for (const name of new Set(unreached)) check(false, `${path}: Tab reaches ${name}`)
  for (const name of new Set(mouse)) check(false, `${path}: ${name} is for the mouse alone`)
  for (const name of new Set(escaped)) check(false, `${path}: the focus stays in the dialog, not at ${name}`)
}

/** Tabs and radio buttons of a view, once each. */
async function groupsOf(page, path, groups) {
  for (const group of groups) {
    const signature = `${group.kind} ${group.names.join(', ')}`
    if (walked.has(signature)) continue
    walked.add(signature)
    const missed = await arrows(page, group)
    check(missed.length === 0, `${path}: the arrows reach ${missed.join(', ')}`)
    totals.groups += 1
    totals.members += group.of.length
  }
}

async function everyControl() {
  await walk(await everyView(), async ({ page }, one) => {
    await opened(page, one)
    await ready(page)
    const result = await tabThrough(page)
    report(one[1], result)
    check(result.reached.size >= 20, `${one[1]}: ${result.reached.size} controls are few`)
    totals.views += 1
    totals.controls += result.reached.size
    await groupsOf(page, one[1], result.groups)
  }, { reducedMotion: 'reduce' })
  console.log(`  ${totals.controls} controls reached by Tab on ${totals.views} views, ${totals.members} more by the arrows of ${totals.groups} groups`)
}

/** A walk that finds no fault finds those that are put there. */
async function planted({ page }) {
  const path = '/settings'
  await view(page, path)
  await ready(page)
  await page.addStyleTag({ content: 'nav a:focus-visible { outline: none !important }' })
  const unseen = (await tabThrough(page)).unseen
  check(unseen.some((name) => name.includes('Agents')), `a focus without its outline is noticed: ${unseen.join(', ')}`)
  await view(page, path)
  await ready(page)
  await page.evaluate(() => {
    const [link] = [...document.querySelectorAll('nav a')].filter((one) => one.textContent.trim() === 'Policies')
    link.tabIndex = -1
    const fake = Object.assign(document.createElement('div'), { textContent: 'Fake', onclick: () => undefined })
    fake.style.cursor = 'pointer'
    document.querySelector('#content').append(fake)
    const veil = document.createElement('div')
    veil.style.cssText = 'position: fixed; inset: 0 0 auto 0; height: 52px; z-index: 9999; background: red'
    document.body.append(veil)
  })
  const found = await tabThrough(page)
  check(found.unreached.some((name) => name.includes('Policies')), `a control out of Tab's way is noticed: ${found.unreached.join(', ')}`)
  check(found.mouse.some((name) => name.includes('Fake')), `a control for the mouse alone is noticed: ${found.mouse.join(', ')}`)
  check(found.hidden.some((name) => name.includes('Search')), `a control beneath something else is noticed: ${found.hidden.join(', ')}`)
}

/** View, the button that opens, and what the dialog is told by. */
const DIALOGS = [
  ['/t/lab/agents/echo', 'Disable'], ['/t/lab/agents/echo', 'Remove'], ['/t/lab/agents/echo?tab=settings', 'Set one'], ['/t/lab/principals', 'New principal'],
  ['/t/lab/principals/finance-bot', 'New key'], ['/t/lab/principals/finance-bot', 'New grant'], ['/t/lab/principals/finance-bot', 'Edit: Groups'], ['/t/lab/principals/finance-bot', 'Edit: Limits'],
  ['/t/lab/principals/finance-bot', 'Add a subject'], ['/t/lab/principals/finance-bot', 'Remove'], ['/t/lab/policies', 'New policy'], ['/t/lab/policies/code-names', 'Remove'],
  ['/t/lab/grants', 'New grant'], ['/t/lab/grants/finance', 'Edit'], ['/t/lab/groups', 'New group'], ['/t/lab/groups?group=finance', 'Add members'], ['/t/lab/limits', 'Set a limit'],
  ['/t/lab/issuers/corp', 'Disable'], ['/t/lab/issuers/corp', 'Remove'], ['/t/lab/conditions', 'Remove'], ['/t/default/signing-keys', 'Retire'],
  ['/tenants', 'New tenant'], ['/tenants', 'Suspend'], ['/admins', 'New account'], ['/admins', 'Edit ada'], ['/admins?tab=tokens', 'New token'],
]
const MENUS = [['/t/default/agents', 'Account: ada'], ['/t/default/agents', 'Theme'], ['/t/default/audit', 'Export'], ['/t/lab/issuers', 'New issuer'], ['/t/default/signing-keys', 'New key']]

async function openBy(page, path, name) {
  await view(page, path)
  await ready(page)
  const opener = page.getByRole('button', { name, exact: true }).first()
  await opener.focus()
  await page.keyboard.press('Enter')
  return opener
}

async function back(page, opener, what) {
  const handle = await opener.elementHandle()
  await page.waitForFunction((one) => document.activeElement === one, handle, { timeout: 2_000 })
    .catch(async () => check(false, `${what}: the focus comes back, not to ${await page.evaluate(() => globalThis.keys.at().name ?? 'nothing')}`))
}

/** What opens takes the focus in a turn of its own, sooner than a hand gets to the next key, and not always than a script. */
async function into(page, opened, what) {
  const root = await opened.elementHandle()
  await page.waitForFunction((root) => root.contains(document.activeElement), root, { timeout: 2_000 }).catch(() => check(false, `${what}: the focus goes into what opens`))
  return root
}

async function throughDialog({ page }, [path, name]) {
  const what = `${path}, ${name}`
  const opener = await openBy(page, path, name)
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  await settled(page)
  const root = await into(page, dialog, what)
  await ready(page)
  const result = await tabThrough(page, root)
  report(what, result)
  await groupsOf(page, what, result.groups)
  check(result.reached.size >= 2, `${what}: ${result.reached.size} controls are few`)
  for (let presses = 0; presses < 2 && await dialog.count() > 0; presses++) {
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached', timeout: 1_000 }).catch(() => undefined)
  }
  check(await dialog.count() === 0, `${what}: Escape closes it`)
  await back(page, opener, what)
  totals.controls += result.reached.size
}

async function throughMenu({ page }, [path, name]) {
  const what = `${path}, ${name}`
  const opener = await openBy(page, path, name)
  const menu = page.getByRole('menu')
  await menu.waitFor()
  await into(page, menu, what)
  const items = await menu.getByRole('menuitem').count()
  const seen = new Set()
  for (let presses = 0; presses <= items; presses++) {
    await page.keyboard.press('ArrowDown')
    const at = await page.evaluate(() => globalThis.keys.at())
    if (at.left) check(at.left.marked, `${what}: the focus on ${at.left.name} can be seen`)
    if (at.name?.includes('menuitem')) seen.add(at.id)
  }
  check(items > 0 && seen.size === items, `${what}: the arrows reach ${seen.size} of ${items}`)
  await page.keyboard.press('Escape')
  await menu.waitFor({ state: 'detached' })
  await back(page, opener, what)
  totals.members += items
}

async function palette() {
  await view(page, '/t/lab/mission')
  await ready(page)
  const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Agents' })
  for (const key of ['Control+k', '/']) {
    await link.focus()
    await page.keyboard.press(key)
    const field = page.getByRole('combobox', { name: 'Search' })
    await field.waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'combobox')
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    await back(page, link, `the palette by ${key}`)
  }
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search' }).fill('o')
  await page.getByRole('option').nth(3).waitFor()
  await axeClean(page, 'palette')
  const chosen = () => page.evaluate(() => {
    const one = document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))
    const [box, list] = [one.getBoundingClientRect(), one.parentElement.getBoundingClientRect()]
    return { id: one.id, selected: one.getAttribute('aria-selected'), background: getComputedStyle(one).backgroundColor, inSight: box.top >= list.top - 1 && box.bottom <= list.bottom + 1 }
  })
  const places = []
  const options = await page.getByRole('option').count()
  for (let presses = 0; presses < options; presses++) {
    places.push(await chosen())
    await page.keyboard.press('ArrowDown')
  }
  check(new Set(places.map((one) => one.id)).size === options, `the arrows reach every one of ${options} entries`)
  check(places.every((one) => one.selected === 'true' && one.inSight && one.background !== 'rgba(0, 0, 0, 0)'), `the chosen one can be seen: ${JSON.stringify(places.find((one) => !one.inSight || one.selected !== 'true') ?? '')}`)
  await page.keyboard.press('Tab')
  check(await page.evaluate(() => document.querySelector('[role="dialog"]').contains(document.activeElement)), 'Tab stays in the palette')
  await page.getByRole('combobox', { name: 'Search' }).fill('echo')
  await page.getByRole('option', { name: /echo/ }).first().waitFor()
  await page.getByRole('combobox', { name: 'Search' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'echo' }).first().waitFor()
  await page.locator('main').focus()
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await page.getByRole('heading', { name: 'Principals' }).waitFor()
}

/** The first keys that a person without a mouse presses: past the menu, and to another tenant. */
async function ways() {
  await view(page, '/t/lab/agents')
  await page.keyboard.press('Tab')
  check(await page.evaluate(() => document.activeElement?.getAttribute('href') === '#content' && document.activeElement.getBoundingClientRect().left >= 0), 'the first Tab shows the way past the menu')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  check(await page.evaluate(() => document.querySelector('#content').contains(document.activeElement)), 'it leads into the view')
  await page.getByRole('combobox', { name: 'Tenant' }).or(page.getByRole('textbox', { name: 'Tenant' })).first().focus()
  await page.keyboard.press('Enter')
  await page.getByRole('option', { name: 'default', exact: true }).waitFor()
  await page.keyboard.press('Home')
  for (let presses = 0; presses < 20 && await page.evaluate(() => document.querySelector('[role="option"][data-combobox-selected]')?.textContent) !== 'default'; presses++) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/t/default/agents')
}

async function signInByKeys() {
  const other = await open({ reducedMotion: 'reduce' })
  await other.page.goto(ADMIN)
  await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await ready(other.page)
  const result = await tabThrough(other.page)
  report('the sign-in', result)
  check(result.reached.size >= 4, `the sign-in has ${result.reached.size} controls`)
  await other.context.close()
}

export async function keyboardSteps() {
  await step('a walk by Tab sees the faults that are planted', () => kit.walk([0], (window) => planted(window), { reducedMotion: 'reduce' }))
  await step('every control of every view is reached by keys, and seen to have the focus', everyControl)
  await step('dialogs and menus by keys: opened, walked, closed, left', async () => {
    await walk(DIALOGS, throughDialog, { reducedMotion: 'reduce' })
    await walk(MENUS, throughMenu, { reducedMotion: 'reduce' })
    await signInByKeys()
    console.log(`  ${DIALOGS.length} dialogs, ${MENUS.length} menus`)
  })
  await step('the palette, the letters and the way past the menu', async () => {
    await palette()
    await ways()
  })
}
