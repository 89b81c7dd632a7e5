// Every view of the page, for whatever goes through them all; and what goes through them for all rules of axe, in both
// themes, on a telephone, and to be pictured.

import { ACCESS_NARROW, ACCESS_VIEWS } from './access.mjs'
import { CHANGES_NARROW, CHANGES_VIEWS } from './changes.mjs'
import { CONDITIONS_NARROW, CONDITIONS_VIEWS } from './conditions.mjs'
import { another, api, axeClean, axed, call, check, env, IMAGES_DIR, inTheme, picture, settled, step, view, walk } from './kit.mjs'

/** Name, path, and whether it is pictured: `true`, or how high the window is then. */
export const VIEWS = [
  ['mission', '/t/default/mission?span=15', 1060], ['agents', '/t/default/agents', true], ['agent', '/t/default/agents/echo', true], ['agent-source', '/t/default/agents/echo?tab=source', false],
  ['agent-revisions', '/t/default/agents/echo?tab=revisions', false], ['agent-try', '/t/default/agents/echo?tab=try', false], ['agent-use', '/t/default/agents/echo?tab=use', false],
  ['agent-card', '/t/default/agents/echo?tab=card', false], ['register-address', '/t/default/register', false], ['principals', '/t/default/principals', false], ['principal', '/t/default/principals/demo-caller', false],
  ['policies', '/t/lab/policies', false], ['policy', '/t/lab/policies/code-names', 1060], ['policy-revisions', '/t/lab/policies/code-names?tab=revisions', false], ['signing-keys', '/t/default/signing-keys', false],
  ['audit', '/t/default/audit', true], ['settings', '/settings', false], ['tenants', '/tenants', false], ['admins', '/admins', false], ['tokens', '/admins?tab=tokens', false],
  ['empty-agents', '/t/partner/agents', false], ['empty-policies', '/t/partner/policies', false], ['empty-audit', '/t/partner/audit', false],
  ...ACCESS_VIEWS, ...CONDITIONS_VIEWS, ...CHANGES_VIEWS,
]

/** All views, with one exchange that was blocked. */
export async function everyView() {
  const exchange = (await api('GET', '/audit?tenant=lab&outcome=blocked&limit=1')).body.items[0].correlation_id
  return [...VIEWS, ['exchange', `/t/lab/exchanges/${exchange}`, true]]
}

/** Opens a view by its name and waits for what comes late in it. */
export async function opened(page, [name, path]) {
  await view(page, path)
  if (name === 'mission') await page.getByText('as it happens').waitFor()
  if (name === 'exchange') await page.getByText('Whole exchange').waitFor()
  if (/source|register-json/.test(path + name) || name === 'policy' || name === 'conditions') await page.locator('.cm-content').first().waitFor()
}

/** Something to look at: three callers, four agents, a stop and a failure. */
async function traffic() {
  for (let round = 0; round < 6; round++) {
    for (const card of ['echo', 'weather', 'travel-planner', 'approval']) await call('default', card, round % 3 ? env.API_KEY : env.SECOND_API_KEY, `round ${round}`)
    await call('default', 'flaky', env.API_KEY, 'hello')
  }
}

/** For pictures only: a house that is at work while the suite is. */
export function atWork() {
  if (!IMAGES_DIR) return () => undefined
  const cards = ['echo', 'echo', 'weather', 'travel-planner', 'approval', 'flaky']
  let turn = 0
  const timer = setInterval(() => {
    turn++
    const many = 1 + ((turn * 7) % 5)
    for (let at = 0; at < many; at++) void call('default', cards[(turn * 3 + at * 5) % cards.length], (turn + at) % 3 ? env.API_KEY : env.SECOND_API_KEY, `turn ${turn}`).catch(() => undefined)
  }, 2_000)
  return () => clearInterval(timer)
}

export async function axeSteps() {
  await step('every view is axe clean by all rules, light and dark', async () => {
    const before = axed.runs
    const views = await everyView()
    await walk(views, async ({ page }, one) => {
      const [name, , pictured] = one
      await page.setViewportSize({ width: 1280, height: typeof pictured === 'number' && IMAGES_DIR ? pictured : 820 })
      await page.emulateMedia({ colorScheme: 'light' })
      await opened(page, one)
      if (name === 'mission') {
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
      if (pictured) await page.evaluate(() => { document.activeElement?.blur(); window.scrollTo(0, 0) })
      for (const theme of ['light', 'dark']) {
        await inTheme(page, theme)
        await axeClean(page, `${name} (${theme})`)
        if (pictured) await picture(page, `${name}-${theme}`)
      }
    })
    console.log(`  ${axed.runs - before} runs of axe on ${views.length} views, ${axed.rules} rules each; ${axed.runs} runs so far`)
  })
}

const NARROW = [
  '/t/default/mission', '/t/default/agents', '/t/default/register', '/t/lab/policies', '/t/lab/policies/code-names', '/t/default/audit', '/t/bulk/exchanges/tree-2', ...ACCESS_NARROW, ...CONDITIONS_NARROW, ...CHANGES_NARROW, '/settings',
]

export async function phoneSteps() {
  await step('a telephone shows it too', async () => {
    const phone = await another({ viewport: { width: 390, height: 780 } })
    for (const path of NARROW) {
      await view(phone.page, path)
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
}
