// The trail of changes, cards that keep their digits, the client of waiting tasks, and how long each part of an exchange took.

/** Views for the walk in both themes. */
export const CHANGES_VIEWS = [['changes', '/t/lab/changes', false], ['changes-of-one', '/t/lab/changes?kind=card&outcome=done', false], ['all-changes', '/changes', false], ['empty-changes', '/t/bare/changes?actor=nobody', false]]
export const CHANGES_NARROW = ['/t/lab/changes', '/changes']

const TYPED = '{"name":"Digits","description":"d","version":"1","capabilities":{"extensions":[{"uri":"https://ext.test/x","params":{"long":0.12345678901234567890,"price":1.10}}]},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"d","tags":["t"]}],"supportedInterfaces":[{"url":"AGENT","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}'
// More digits than a double has; whole numbers beyond one would keep the card from being published.
const EXACT = ['0.12345678901234567890', '1.10']

export async function changesSteps({ step, check, axeClean, api, call, page, ADMIN, env, agent }) {
  await step('a card from JSON keeps its digits, also when its source is saved', async () => {
    await page.goto(`${ADMIN}/t/lab/register?from=json`)
    const editor = page.locator('.cm-content')
    await editor.click()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText(TYPED.replace('AGENT', agent))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('radio', { name: 'Nobody yet' }).click()
    const saving = page.waitForResponse((response) => response.url().endsWith('/cards/digits/state'))
    await page.getByRole('button', { name: 'Save as a draft' }).click()
    check((await saving).ok(), 'it is a draft')
    const raw = async () => (await fetch(`${ADMIN}/api/v1/tenants/lab/cards/digits`, { headers: { authorization: `Bearer ${env.ADMIN_TOKEN}` } })).text()
    const made = await raw()
    for (const digits of EXACT) check(made.includes(digits), `${digits} arrived as it was typed`)
    await page.goto(`${ADMIN}/t/lab/agents/digits?tab=source`)
    await page.locator('.cm-line').filter({ hasText: EXACT[0] }).waitFor()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.insertText('"tags": ["exact"],')
    await page.getByRole('button', { name: 'Save as a new version' }).click()
    await page.getByText('Saved as a new version.').waitFor()
    const saved = await raw()
    check(saved.includes('"exact"'), 'the source is saved')
    for (const digits of EXACT) check(saved.includes(digits), `${digits} is still there`)
  })

  await step('the client of tasks that wait is set and removed', async () => {
    await page.goto(`${ADMIN}/t/lab/agents/digits?tab=settings`)
    await page.getByRole('button', { name: 'Set a client' }).click()
    await page.getByLabel('Token endpoint').fill(`${new URL(agent).origin}/oauth/token`)
    await page.getByLabel('Client id').fill('gateway')
    await page.getByLabel('Client secret', { exact: true }).fill('canary-of-the-client')
    await axeClean(page, 'the client of waiting tasks')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('OAuth 2 client').waitFor()
    const shown = (await api('GET', '/tenants/lab/cards/digits')).body
    check(JSON.stringify(shown.spec.upstream.in_task_authorisation) === '{"type":"oauth2"}', 'it is set, and not shown')
    await page.getByRole('button', { name: 'Take the client away' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('None: a task that waits').waitFor()
  })

  await step('changes: who changed what, of one thing, of everybody, and what was refused', async () => {
    await page.goto(`${ADMIN}/t/lab/agents/digits?tab=revisions`)
    await page.getByRole('link', { name: 'Who changed it' }).click()
    const rows = page.getByRole('region', { name: 'Changes' }).getByRole('row')
    await rows.filter({ hasText: 'make' }).first().waitFor()
    check(/kind=card&name=digits/.test(page.url()), 'the address says which')
    check((await rows.count()) >= 4, 'every change has its row')
    check(!(await page.content()).includes('canary-of-the-client'), 'no secret is in the trail')
    const auditor = (await api('POST', '/tokens', { name: 'snooper', roles: [{ role: 'auditor', tenant: 'lab' }] })).body.token
    await fetch(`${ADMIN}/api/v1/tenants/lab/cards/digits`, { method: 'DELETE', headers: { authorization: `Bearer ${auditor}`, 'if-match': '1' } })
    await page.goto(`${ADMIN}/t/lab/changes?outcome=refused`)
    await rows.filter({ hasText: 'snooper' }).filter({ hasText: 'forbidden' }).first().waitFor()
    await page.goto(`${ADMIN}/changes`)
    await rows.filter({ hasText: 'snooper' }).first().waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('digits')
    await page.getByRole('search').getByRole('button', { name: 'Search' }).click()
    await page.waitForURL(/name=digits/)
    await rows.filter({ hasText: 'change' }).first().waitFor()
    await axeClean(page, 'all changes')
  })

  await step('an exchange shows how long each part of it took', async () => {
    await api('POST', '/tenants/lab/principals', { name: 'timed', spec: {} })
    await api('POST', '/tenants/lab/grants', { name: 'timed', spec: { principal: 'timed', cards: ['echo'], operations: ['send'] } })
    const { key } = (await api('POST', '/tenants/lab/keys', { principal: 'timed' })).body
    const answer = await call('lab', 'echo', key, 'how long')
    check(answer.status === 200, `the call is answered: ${answer.text}`)
    let record
    for (let tries = 0; tries < 200 && !record?.closed_at; tries += 1) record = (await api('GET', '/audit?tenant=lab&principal=timed&limit=1')).body.items[0]
    check(record?.detail?.closed?.stages?.agent_us > 0, 'the record says how long the agent took')
    await page.goto(`${ADMIN}/t/lab/exchanges/${encodeURIComponent(record.correlation_id)}`)
    await page.getByText('As measured part by part').waitFor()
    await page.getByText('Waiting for the agent', { exact: true }).waitFor()
  })
}
