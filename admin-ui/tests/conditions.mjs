// Conditions in a real browser: written from nothing, their mistakes by line, what they forbid told where somebody asks
// who may do what, and an earlier version had again.

/** Views for the walk in both themes. */
export const CONDITIONS_VIEWS = [
  ['conditions', '/t/lab/conditions', true], ['conditions-revisions', '/t/lab/conditions?tab=revisions', false], ['empty-conditions', '/t/bare/conditions', false],
  ['explain-denied', '/t/lab/explain?principal=finance-bot&card=echo&operation=send', false], ['explain-conditions', '/t/lab/explain?principal=finance-bot&card=echo', false],
]

export const CONDITIONS_NARROW = ['/t/lab/conditions', '/t/lab/conditions?tab=revisions', '/t/lab/explain?principal=finance-bot&card=echo&operation=send']

const BAD = '@id("frozen")\nforbid (principal, action == Action::"fly", resource);'
export const GOOD = '// This one sends nothing for now.\n@id("frozen")\nforbid (principal == Principal::"finance-bot", action == Action::"send", resource);'

/** Whether this gateway was built with conditions: the others save none, and say so. */
export async function isBuiltIn(api) {
  const { body } = await api('POST', '/tenants/lab/authz/check', { spec: { policies: GOOD } })
  return !JSON.stringify(body).includes('built without conditions')
}

/** The API of a gateway that has conditions, played to the page where the gateway has none. */
export async function playConditions(context, played) {
  if (!played.on) return
  const row = () => ({ kind: 'Conditions', tenant: 'lab', name: 'house-rules', id: 'cnd-1', revision: played.versions.length, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', spec: played.versions.at(-1) })
  const save = (spec) => { played.versions.push(spec); return { json: row() } }
  const problem = { status: 400, json: { code: 'invalid', message: 'The document has mistakes.', correlation_id: 'c-1', fields: [{ path: 'spec.policies', problem: 'line 2, column 1: there is no action "fly"' }] } }
  const version = (spec, at) => ({ version: at + 1, at: '2026-01-01T00:00:00Z', changed_by: 'ada', note: '', spec })
  await context.route(/\/api\/v1\/tenants\/lab\/(conditions|authz)/, async (route) => {
    const asked = route.request()
    const [url, body] = [new URL(asked.url()), asked.postDataJSON()]
    const at = `${asked.method()} ${url.pathname.slice('/api/v1/tenants/lab/'.length)}`
    if (at === 'GET conditions') return route.fulfill({ json: { items: played.versions.length > 0 ? [row()] : [] } })
    if (at === 'POST authz/check') return route.fulfill(body.spec.policies.includes('"fly"') ? problem : { json: { sound: true } })
    if (at === 'POST conditions') return route.fulfill({ status: 201, ...save(body.spec) })
    if (at === 'PUT conditions/house-rules') return route.fulfill(save(body.spec))
    if (at === 'PUT conditions/house-rules/version') return route.fulfill(save(played.versions[body.version - 1]))
    if (at === 'GET conditions/house-rules/history') return route.fulfill({ json: { items: played.versions.map(version).reverse() } })
    if (at === 'GET authz/explain') {
      const response = await route.fetch()
      const answer = await response.json()
      const denies = played.versions.at(-1)?.policies.includes('"send"') && url.searchParams.get('operation') === 'send'
      if (!answer.allowed || played.versions.length === 0) return route.fulfill({ response })
      const conditions = { conditions: 'house-rules', version: played.versions.length, mode: 'enforce', verdict: denies ? 'denies' : 'allows', ...(denies && { why: 'forbidden', policies: ['frozen'] }), judged: { at: '2026-01-01T00:00:00Z', source: '127.0.0.1', scheme: 'api_key', extensions: [], delegation_depth: 0 } }
      return route.fulfill({ json: { ...answer, conditions, ...(denies && { allowed: false, reason: `${answer.reason}, but conditions house-rules deny it (forbidden: frozen)` }) } })
    }
    return route.fallback()
  })
}

export async function conditionsSteps({ step, check, axeClean, api, call, page, watch, context, ADMIN, played }) {
  await step('conditions: mistakes by line, what they forbid, an earlier version again', async () => {
    const here = await isBuiltIn(api)
    await page.goto(`${ADMIN}/t/lab/conditions`)
    await page.getByText('No conditions', { exact: true }).waitFor()
    if (!here) {
      await page.getByRole('button', { name: 'Write conditions' }).click()
      watch.quiet = false
      await page.getByRole('button', { name: 'Create' }).click()
      await page.getByRole('alert').getByText('built without conditions').waitFor()
      watch.quiet = true
      console.log('  this gateway was built without conditions: they are played to the page')
      played.on = true
      await playConditions(context, played)
      await page.reload()
    }
    await page.getByRole('button', { name: 'Write conditions' }).click()
    await page.getByLabel('Name', { exact: true }).fill('house-rules')
    await axeClean(page, 'conditions from nothing')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('In force as it is here.').waitFor()
    const editor = page.locator('.cm-content')
    const write = async (text) => {
      await editor.click()
      await page.keyboard.press('Control+A')
      await page.keyboard.insertText(text)
    }
    const save = page.getByRole('button', { name: 'Save', exact: true })
    watch.quiet = false
    await write(BAD)
    await page.getByText(/line 2, column \d+: .*fly/).first().waitFor()
    await page.locator('.cm-lint-marker-error').first().waitFor()
    const marks = await page.locator('.cm-lintRange-error').allTextContents()
    // Cedar also says of the whole policy that nothing can fit it.
    check(marks.some((text) => text.includes('fly')) && marks.every((text) => BAD.split('\n').some((line) => line.includes(text))), `the mistake is marked in its line: ${marks.join(' ; ')}`)
    check(await save.isDisabled(), 'what is wrong is not saved')
    await axeClean(page, 'conditions with a mistake')
    await write(GOOD)
    await page.getByText('Sound. Not saved yet.').waitFor()
    watch.quiet = true
    await page.getByRole('combobox', { name: 'Mode' }).click()
    await page.getByRole('option', { name: 'In force', exact: true }).click()
    await page.getByText('Sound. Not saved yet.').waitFor()
    await save.click()
    await page.getByText('Saved, and in force.').waitFor()
    await page.goto(`${ADMIN}/t/lab/explain?principal=finance-bot&card=echo`)
    const row = (operation) => page.getByRole('region', { name: 'Every operation' }).last().getByRole('row').filter({ has: page.getByRole('button', { name: operation, exact: true }) })
    await row('get').getByText('yes', { exact: true }).waitFor()
    await row('send').getByText('no', { exact: true }).waitFor()
    await row('send').getByRole('button', { name: 'send' }).click()
    await page.getByRole('region', { name: 'Conditions' }).getByText('house-rules deny it (forbidden: frozen)').waitFor()
    await page.getByRole('region', { name: 'Conditions' }).getByRole('link', { name: 'version 2' }).click()
    await page.getByRole('heading', { level: 1, name: 'Conditions' }).waitFor()
    const { key } = (await api('POST', '/tenants/lab/keys', { principal: 'finance-bot' })).body
    if (here) check((await call('lab', 'echo', key, 'hello')).text.includes('PERMISSION_DENIED'), 'the gateway agrees')
    await page.getByRole('tab', { name: 'Revisions' }).click()
    await page.locator('.diff .add').filter({ hasText: 'frozen' }).waitFor()
    await page.getByRole('button', { name: /^version 1/ }).click()
    await page.getByRole('button', { name: 'Restore version 1' }).click()
    await page.getByText('Version 1 is in force again.').waitFor()
    await page.getByRole('button', { name: /^version 2/ }).click()
    await page.getByRole('button', { name: 'Restore version 2' }).click()
    await page.getByText('Version 2 is in force again.').waitFor()
  })
}
