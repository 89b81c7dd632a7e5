// The main job in a real browser, from the first start to a revoked key: sign in, register an agent, call it with the
// official SDKs by the very text that the page shows, watch, block, edit.

import { readFileSync } from 'node:fs'
import { ADMIN, AGENTS, api, axeClean, call, check, GATEWAY, inTheme, open, page, PASSWORD, picture, PROVIDER, step, watch, WORK } from './kit.mjs'
import { printed, runs, snippetOf } from './snippets.mjs'

const setupLink = /http:\/\/\S+\/setup#\S+/.exec(readFileSync(`${WORK}/out.log`, 'utf8'))?.[0]
let key = ''

export async function firstRun() {
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
}

export async function journey() {
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
    for (const theme of ['dark', 'light']) {
      await inTheme(page, theme)
      await picture(page, `register-${theme}`)
    }
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
    await runs(page, 'with its key')
    await page.goto(`${ADMIN}/t/lab/agents/echo?tab=use`)
    await runs(page, 'with a key of the environment', { API_KEY: key })
  })

  await step('called with the SDKs, an exchange appears live, with the principal that called', async () => {
    const calls = []
    await page.goto(`${ADMIN}/t/lab/agents/echo?tab=use`)
    for (const language of ['JavaScript', 'Python']) calls.push([language, await snippetOf(page, language)])
    await page.goto(`${ADMIN}/t/lab/mission`)
    await page.getByText('as it happens').waitFor()
    const row = page.getByRole('region', { name: 'Live' }).getByRole('row').filter({ hasText: 'lab-caller' }).filter({ hasText: 'ok' })
    for (const [at, [language, text]] of calls.entries()) {
      check(printed(language, text, { API_KEY: key }).includes('hello'), `${language}: the agent answered`)
      await row.nth(at).waitFor()
    }
    await page.getByRole('button', { name: 'Pause' }).click()
    check(page.url().includes('paused=1'), 'a pause is in the address')
    await call('lab', 'echo', key, 'while paused')
    await page.getByText('paused, 1 waiting').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await row.nth(2).waitFor()
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
}

/** Its end: the key is revoked, the card edited and restored. */
export async function journeysEnd() {
  await step('a revoked key is refused', async () => {
    await page.goto(`${ADMIN}/t/lab/principals/lab-caller`)
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').waitFor()
    await axeClean(page, 'confirmation')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('Revoked.').waitFor()
    const refused = await call('lab', 'echo', key, 'hello?')
    check(refused.status === 401, `refused: ${refused.status}`)
    await page.goto(`${ADMIN}/t/lab/agents/echo?tab=use`)
    for (const language of ['JavaScript', 'Python']) {
      const text = printed(language, await snippetOf(page, language), { API_KEY: key }, true)
      check(/401|UNAUTHENTICATED/.test(text) && !text.includes('ROLE_AGENT'), `${language}: refused as well: ${text.slice(-300)}`)
    }
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
}
