// Who may do what, how much, and who vouches for it, in a real browser: grants, groups, explanations, limits, issuers,
// credentials and settings of agents, a card from JSON; with nothing, with hundreds, and when the gateway fails.

/** Views for the walk in both themes: name, path, whether a picture is kept. */
export const ACCESS_VIEWS = [
  ['grants', '/t/lab/grants', false], ['grant', '/t/lab/grants/finance', false], ['groups', '/t/lab/groups', false], ['group', '/t/lab/groups?group=finance', false],
  ['explain-nothing', '/t/lab/explain', false], ['explain', '/t/lab/explain?principal=finance-bot&card=echo', true], ['explain-one', '/t/lab/explain?principal=finance-bot&card=echo&operation=stream', false],
  ['explain-missing', '/t/lab/explain?principal=nobody&card=echo&operation=send', false], ['limits', '/t/lab/limits', true], ['limits-of-grants', '/t/lab/limits?kind=grant', false],
  ['issuers', '/t/lab/issuers', false], ['issuer', '/t/lab/issuers/corp', true], ['issuer-new', '/t/lab/issuers?make=oidc', false], ['certificates-new', '/t/lab/issuers?make=certificate', false],
  ['principal-of-groups', '/t/lab/principals/finance-bot', false], ['agent-settings', '/t/lab/agents/echo?tab=settings', false], ['register-json', '/t/lab/register?from=json', false],
  ['empty-grants', '/t/bare/grants', false], ['empty-groups', '/t/bare/groups', false], ['empty-limits', '/t/bare/limits', false], ['empty-issuers', '/t/bare/issuers', false], ['empty-explain', '/t/bare/explain', false],
]

/** Views for a narrow screen. */
export const ACCESS_NARROW = ['/t/lab/grants', '/t/lab/explain?principal=finance-bot&card=echo', '/t/lab/limits', '/t/lab/issuers/corp', '/t/lab/agents/echo?tab=settings', '/t/lab/register?from=json']

/** Chooses an option of a select by its words. */
async function choose(scope, label, option) {
  await scope.getByRole('combobox', { name: label }).first().click()
  await scope.page().getByRole('option', { name: option, exact: true }).click()
}

/** Opens the view by the search palette, as a hand on the keyboard would. */
async function byPalette(page, words, heading) {
  await page.keyboard.press('Control+K')
  await page.getByRole('combobox', { name: 'Search' }).fill(words)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: heading }).waitFor()
}

export async function accessSteps({ step, check, axeClean, api, call, page, watch, ADMIN, AGENTS, SECRET = 'hush-hush-4711' }) {
  const put = async (method, path, body, headers) => {
    const answer = await api(method, path, body, headers)
    check(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`)
    return answer.body
  }
  const dialog = () => page.getByRole('dialog')
  const scopeOf = (locator) => Object.assign(locator, { page: () => page })
  let key = ''

  await step('a group is made, and a grant for it by tag', async () => {
    await put('POST', '/tenants', { name: 'bare', spec: {} })
    await put('POST', '/tenants/lab/principals', { name: 'finance-bot', spec: {} })
    key = (await put('POST', '/tenants/lab/keys', { principal: 'finance-bot', label: 'test' })).key
    await page.goto(`${ADMIN}/t/lab/agents/echo?tab=settings`)
    await page.getByRole('textbox', { name: 'Tags' }).or(page.getByRole('combobox', { name: 'Tags' })).first().fill('finance')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Save as a new version' }).click()
    await page.getByText('Saved as a new version.').waitFor()
    await byPalette(page, 'groups', 'Groups')
    await page.getByRole('button', { name: 'New group' }).first().click()
    await dialog().getByLabel('Name', { exact: true }).fill('finance')
    await choose(scopeOf(dialog()), 'Members', 'finance-bot')
    await page.keyboard.press('Escape')
    await axeClean(page, 'new group')
    await dialog().getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'finance' }).waitFor()
    check(page.url().includes('group=finance'), 'a group has an address')
    await page.getByRole('button', { name: 'New grant' }).click()
    await dialog().getByRole('combobox', { name: 'Agents' }).fill('tag:finance')
    await page.keyboard.press('Enter')
    await dialog().getByText('Reaches 1 agent: echo').waitFor()
    await dialog().getByRole('textbox', { name: 'Delegations in between' }).fill('2')
    await dialog().getByRole('textbox', { name: 'Calls per day (UTC)' }).fill('100')
    await axeClean(page, 'grant form')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await page.getByRole('region', { name: 'Grants' }).getByRole('link', { name: 'finance' }).waitFor()
    const { body } = await api('GET', '/tenants/lab/grants/finance')
    check(body?.spec?.group === 'finance' && body.spec.cards[0] === 'tag:finance' && body.spec.max_delegation_depth === 2 && body.spec.limits.daily === 100, JSON.stringify(body?.spec))
  })

  await step('a denial and a shadow grant are seen to be such', async () => {
    await page.goto(`${ADMIN}/t/lab/grants`)
    for (const [operation, mode, name] of [['cancel', 'In force', 'no-cancel'], ['stream', 'Shadow: only recorded', 'watch-stream']]) {
      await page.getByRole('button', { name: 'New grant' }).click()
      await choose(scopeOf(dialog()), 'Principal', 'finance-bot')
      await dialog().getByLabel('Name', { exact: true }).fill(name)
      await choose(scopeOf(dialog()), 'Effect', 'Deny, whatever else allows')
      await choose(scopeOf(dialog()), 'Mode', mode)
      check(await dialog().getByRole('textbox', { name: 'Calls per day (UTC)' }).count() === 0, 'a denial has no limits')
      await dialog().getByRole('combobox', { name: 'Agents' }).fill('*')
      await page.keyboard.press('Enter')
      const operations = dialog().getByRole('combobox', { name: 'Operations' })
      await operations.click()
      for (let presses = 0; presses < 7; presses++) await page.keyboard.press('Backspace')
      await operations.fill(operation)
      await page.getByRole('option', { name: operation, exact: true }).click()
      await page.keyboard.press('Escape')
      await dialog().getByRole('button', { name: 'Save' }).click()
      await dialog().waitFor({ state: 'detached' })
    }
    const row = (name) => page.getByRole('region', { name: 'Grants' }).getByRole('row').filter({ hasText: name })
    await row('no-cancel').getByText('denies').waitFor()
    await row('watch-stream').getByText('shadow').waitFor()
    await row('watch-stream').getByRole('link', { name: 'watch-stream' }).click()
    await page.getByText('what it would deny goes through').first().waitFor()
  })

  await step('who may do what is told with every reason', async () => {
    await page.goto(`${ADMIN}/t/lab/principals/finance-bot`)
    await page.getByRole('region', { name: 'Grants' }).first().getByRole('link', { name: 'Explain' }).click()
    await page.getByRole('heading', { level: 1, name: 'Who may do what' }).waitFor()
    await choose(scopeOf(page.locator('main')), 'Agent', 'echo')
    const row = (operation) => page.getByRole('region', { name: 'Every operation' }).last().getByRole('row').filter({ has: page.getByRole('button', { name: operation, exact: true }) })
    await row('send').getByText('yes', { exact: true }).waitFor()
    await row('cancel').getByText('no', { exact: true }).waitFor()
    await row('cancel').getByRole('link', { name: 'no-cancel' }).waitFor()
    await row('stream').getByText('in shadow mode').waitFor()
    await row('push_create').getByText('no grant of its own').waitFor()
    await row('cancel').getByRole('button', { name: 'cancel' }).click()
    await page.getByText('grant no-cancel denies it').first().waitFor()
    check(/principal=finance-bot/.test(page.url()) && /operation=cancel/.test(page.url()), `the question is in the address: ${page.url()}`)
    await page.reload()
    const considered = page.getByRole('region', { name: 'Grants that were looked at' }).last()
    await considered.getByRole('row').filter({ hasText: 'watch-stream' }).getByText('stream only').waitFor()
    await considered.getByRole('row').filter({ hasText: 'Group finance' }).waitFor()
    // Somebody whose token says so is in a group, too.
    await page.goto(`${ADMIN}/t/lab/explain?principal=lab-caller&card=echo&operation=send&groups=finance`)
    await page.getByText('grant finance allows it').or(page.getByText('lab-caller may do send')).first().waitFor()
    await page.goto(`${ADMIN}/t/lab/agents/echo`)
    await page.getByRole('region', { name: 'Who may call' }).getByRole('link', { name: 'Explain' }).waitFor()
    const refused = await call('lab', 'echo', key, 'hello')
    check(refused.status === 200 && refused.text.includes('hello'), `the gateway agrees: ${refused.status} ${refused.text}`)
  })

  await step('a limit is set, and its use is seen', async () => {
    await byPalette(page, 'limits', 'Limits')
    await page.getByRole('button', { name: 'Set a limit' }).first().click()
    await choose(scopeOf(dialog()), 'Name', 'finance-bot')
    await dialog().getByRole('textbox', { name: 'Calls per minute' }).fill('3')
    await dialog().getByRole('textbox', { name: 'Calls per month (UTC)' }).fill('1000')
    await axeClean(page, 'limit form')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await page.getByText('The new limits hold').waitFor()
    let last
    for (let turn = 0; turn < 4; turn++) last = await call('lab', 'echo', key, `turn ${turn}`)
    check(last.status === 429, `the limit holds: ${last.status} ${last.text.slice(0, 200)}`)
    await page.reload()
    const row = page.getByRole('region', { name: 'Limits' }).getByRole('row').filter({ hasText: 'finance-bot' })
    await row.getByText('3 of 3').or(row.getByText('2 of 3')).waitFor()
    await row.getByText(/^[1-9]\d* of 1,000/).waitFor()
    await row.getByRole('button', { name: 'Edit Principal finance-bot' }).click()
    await dialog().getByRole('textbox', { name: 'Calls per minute' }).fill('')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().waitFor({ state: 'detached' })
    const { body } = await api('GET', '/tenants/lab/principals/finance-bot')
    check(body.spec.limits.per_minute === undefined && body.spec.limits.monthly === 1000 && body.spec.groups[0] === 'finance', `only that limit went: ${JSON.stringify(body.spec)}`)
    await page.goto(`${ADMIN}/t/lab/grants/finance`)
    await page.getByText(/of 100/).first().waitFor()
  })

  await step('an issuer: what is wrong is named, its keys are told, it is disabled', async () => {
    await page.goto(`${ADMIN}/t/lab/issuers`)
    await page.getByText('No issuers').waitFor()
    await page.getByRole('button', { name: 'New issuer' }).first().click()
    await page.getByRole('menuitem', { name: 'Tokens (OpenID Connect)' }).click()
    await page.getByLabel('Name here').fill('corp')
    await page.getByRole('textbox', { name: 'Issuer', exact: true }).fill('http://user:word@idp.test/')
    watch.quiet = false
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('must be an https:// URL').first().waitFor()
    await page.getByText('must name at least one audience').first().waitFor()
    await page.getByText('must list at least one subject').first().waitFor()
    await axeClean(page, 'issuer with problems')
    watch.quiet = true
    await page.getByRole('textbox', { name: 'Issuer', exact: true }).fill('https://idp.invalid')
    await page.getByRole('combobox', { name: 'Audiences' }).or(page.getByRole('textbox', { name: 'Audiences' })).first().fill('chancery')
    await page.keyboard.press('Enter')
    await page.getByLabel('Claim with the groups').fill('/realm/groups')
    await page.getByRole('button', { name: 'Add a subject' }).click()
    await page.getByRole('textbox', { name: 'Subject', exact: true }).fill('user-1')
    await choose(scopeOf(page.getByRole('group', { name: 'Subject 1' })), 'Principal', 'finance-bot')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { level: 1, name: 'corp' }).waitFor()
    await page.getByText(/can’t be fetched|Not fetched yet/).first().waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    await dialog().getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable' }).waitFor()
    const { body } = await api('GET', '/tenants/lab/issuers/corp')
    check(body.spec.state === 'disabled' && body.spec.groups_claim === '/realm/groups' && body.spec.principals['user-1'] === 'finance-bot', JSON.stringify(body.spec))
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Disable' }).waitFor()
  })

  await step('a client certificate proves a principal', async () => {
    await put('POST', '/tenants/lab/issuers', { name: 'certs', spec: { kind: 'certificate', principals: { 'CN=other': 'lab-caller' } } })
    await page.goto(`${ADMIN}/t/lab/principals/finance-bot`)
    const proofs = page.getByRole('region', { name: 'Proven otherwise' }).first()
    await proofs.getByText('user-1').waitFor()
    await proofs.getByRole('button', { name: 'Add a subject' }).click()
    await choose(scopeOf(dialog()), 'Issuer', 'certs')
    await dialog().getByLabel('Subject').fill('CN=bot,O=Acme')
    await dialog().getByRole('button', { name: 'Save' }).click()
    await proofs.getByText('CN=bot,O=Acme').waitFor()
    const { body } = await api('GET', '/tenants/lab/issuers/certs')
    check(body.spec.principals['CN=bot,O=Acme'] === 'finance-bot' && body.spec.principals['CN=other'] === 'lab-caller', `others stay: ${JSON.stringify(body.spec)}`)
  })

  await step('a credential is set, replaced and removed, and never shown', async () => {
    await page.goto(`${ADMIN}/t/lab/agents/echo?tab=settings`)
    await page.getByRole('button', { name: 'Set one' }).click()
    await choose(scopeOf(dialog()), 'Kind', 'The caller’s own token')
    await dialog().getByText('can use a caller’s token elsewhere').waitFor()
    await axeClean(page, 'credential: forward')
    await choose(scopeOf(dialog()), 'Kind', 'OAuth 2 client credentials')
    await dialog().getByLabel('Token endpoint').fill('https://idp.invalid/token')
    await dialog().getByLabel('Client id').fill('gateway')
    await dialog().getByLabel('Client secret').fill(SECRET)
    await dialog().getByRole('button', { name: 'Save' }).click()
    await dialog().waitFor({ state: 'detached' })
    const panel = page.getByRole('region', { name: 'Credential towards the agent' })
    await panel.getByText('set', { exact: true }).waitFor()
    await panel.getByText('OAuth 2 client credentials').waitFor()
    await page.reload()
    await panel.getByText('set', { exact: true }).waitFor()
    check(!(await page.content()).includes(SECRET), 'the secret is not in the page')
    check(!JSON.stringify((await api('GET', '/tenants/lab/cards/echo')).body).includes(SECRET), 'nor in the API')
    // Other settings change without it, and it stays.
    await choose(scopeOf(page.locator('main')), 'Missing version header', 'strict')
    await choose(scopeOf(page.locator('main')), 'A task is seen by', 'tenant')
    await page.getByRole('button', { name: 'Save as a new version' }).click()
    await page.getByText('Saved as a new version.').waitFor()
    const { body } = await api('GET', '/tenants/lab/cards/echo')
    check(body.spec.version_mode === 'strict' && body.spec.task_scope === 'tenant' && body.spec.tags[0] === 'finance' && body.spec.upstream.credential.type === 'oauth2', JSON.stringify({ ...body.spec, card: 0 }))
    for (const label of ['Missing version header', 'A task is seen by']) await choose(scopeOf(page.locator('main')), label, label === 'A task is seen by' ? 'As usual (principal)' : 'As usual (lenient)')
    await page.getByRole('button', { name: 'Save as a new version' }).click()
    await page.getByText(`version ${body.spec.version + 1}`, { exact: true }).waitFor()
    await panel.getByRole('button', { name: 'Replace' }).click()
    await choose(scopeOf(dialog()), 'Kind', 'Bearer token')
    await dialog().getByLabel('Token', { exact: true }).fill(SECRET)
    await dialog().getByRole('button', { name: 'Save' }).click()
    await panel.getByText('Bearer token').waitFor()
    await panel.getByRole('button', { name: /Remove/ }).click()
    await dialog().getByRole('button', { name: 'Remove' }).click()
    await panel.getByRole('button', { name: 'Set one' }).waitFor()
    check((await api('GET', '/tenants/lab/cards/echo')).body.spec.upstream.credential.type === 'none', 'it is gone')
  })

  await step('a card from JSON: completed, checked, registered', async () => {
    await page.goto(`${ADMIN}/t/lab/register`)
    await page.getByText('From JSON').click()
    await page.getByRole('button', { name: 'Begin with an example' }).click()
    const editor = page.locator('.cm-content')
    await editor.waitFor()
    await editor.click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.insertText('\n')
    await page.keyboard.press('Control+Space')
    await page.locator('.cm-tooltip-autocomplete').getByText('documentationUrl').waitFor()
    await page.keyboard.press('Escape')
    const write = async (card) => {
      await editor.click()
      await page.keyboard.press('Control+A')
      await page.keyboard.insertText(JSON.stringify(card, null, 2))
    }
    const card = {
      name: 'From JSON', description: 'Echoes.', version: '1', protocolVersion: '0.3.0', url: `${AGENTS}/a2a/echo`, preferredTransport: 'JSONRPC', capabilities: {}, defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'], skills: [{ id: 's', name: 'Echo', description: 'Echoes.', tags: 'echo' }],
    }
    await write(card)
    await page.locator('.cm-lint-marker-error').first().waitFor()
    await page.locator('.cm-lint-marker-error').first().hover()
    await page.locator('.cm-tooltip').getByText('must be a list').waitFor()
    // The gateway says the same, at the same place.
    watch.quiet = false
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Nobody yet').check()
    await page.getByRole('button', { name: 'Save as a draft' }).click()
    await page.getByText(/to mend, marked in the editor/).waitFor()
    watch.quiet = true
    await axeClean(page, 'card from JSON with problems')
    await write({ ...card, skills: [{ ...card.skills[0], tags: ['echo'] }] })
    await page.getByRole('region', { name: 'Addresses in it' }).getByText(`${AGENTS}/a2a/echo`).waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    check(await page.getByLabel('Name here').inputValue() === 'from-json', 'it is named after the card')
    await page.getByLabel('Nobody yet').check()
    await page.getByRole('button', { name: 'Save as a draft' }).click()
    await page.getByRole('heading', { name: 'Test call' }).waitFor()
    const { body } = await api('GET', '/tenants/lab/cards/from-json')
    check(body?.spec?.state === 'draft' && body.spec.card.url === `${AGENTS}/a2a/echo`, `a draft: ${body?.spec?.state}`)
  })

  for (const rules of [50, 500]) {
    await step(`a policy of ${rules} rules opens at once, form and source`, async () => {
      const detectors = Array.from({ length: rules }, (_, at) => ({ id: 'words', name: `rule-${at}`, words: Array.from({ length: 10 }, (_, word) => `word ${at} ${word}`), action: 'block' }))
      const path = `**/api/v1/tenants/lab/policies/rules-${rules}`
      // The gateway takes a hundred at most; what the page does with more must not depend on that.
      if (rules <= 100) await put('POST', '/tenants/lab/policies', { name: `rules-${rules}`, spec: { surfaces: ['a2a_inbound'], detectors } })
      else await page.route(path, (route) => route.fulfill({ json: { kind: 'Policy', tenant: 'lab', name: `rules-${rules}`, id: 'pol-x', revision: 1, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', spec: { surfaces: ['a2a_inbound'], detectors } } }))
      const began = Date.now()
      await page.goto(`${ADMIN}/t/lab/policies/rules-${rules}`)
      await page.locator('.cm-content').waitFor()
      console.log(`  source and form after ${Date.now() - began} ms`)
      const inputs = await page.locator('#content input').count()
      check(inputs < 20, `closed rules have no controls (${inputs})`)
      await page.getByLabel('Filter rules').fill(`word ${rules - 1} 9`)
      await page.getByText(`1 of ${rules}`).waitFor()
      await page.getByRole('button', { name: `rule-${rules - 1}` }).click()
      await page.getByRole('group', { name: `Rule ${rules}` }).getByLabel('Name', { exact: true }).fill('last')
      await page.getByRole('button', { name: 'Save', exact: true }).isEnabled()
      await page.unroute(path)
    })
  }
}

/** What the new views say when there is much, or when something is wrong. */
export async function accessStates({ step, axeClean, open, impatient, context, ADMIN }) {
  await step('hundreds of grants, groups, limits and issuers', async () => {
    const many = await open({ storageState: await context.storageState() })
    const list = (make) => (route) => {
      const cursor = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
      const items = Array.from({ length: 500 }, (_, at) => make(at)).slice(cursor, cursor + 200)
      return route.fulfill({ json: { items, ...(cursor + 200 < 500 ? { next_cursor: String(cursor + 200) } : {}) } })
    }
    const row = (kind, name, spec) => ({ kind, tenant: 'bare', name, id: name, revision: 1, created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', spec })
    await many.page.route('**/api/v1/tenants/bare/principals?*', list((at) => row('Principal', `bot-${at}`, { kind: 'agent', state: 'active', groups: [`team-${at}`] })))
    await many.page.route('**/api/v1/tenants/bare/grants?*', list((at) => row('Grant', `grant-${at}`, { group: `team-${at}`, cards: ['*'], operations: ['send'] })))
    await many.page.route('**/api/v1/tenants/bare/issuers?*', list((at) => row('Issuer', `issuer-${at}`, { issuer: `https://idp-${at}.test`, audiences: ['a'], unlisted: 'by_name' })))
    await many.page.route('**/api/v1/tenants/bare/limits', (route) => route.fulfill({ json: { items: Array.from({ length: 500 }, (_, at) => ({ kind: 'grant', name: `grant-${at}`, limits: { daily: 10 }, used: { concurrent: 0, streams: 0, daily: at % 11 } })) } }))
    for (const [view, name] of [['groups', 'team'], ['grants', 'grant'], ['issuers', 'issuer'], ['limits', 'grant']]) {
      const began = Date.now()
      await many.page.goto(`${ADMIN}/t/bare/${view}`)
      await many.page.getByRole('link', { name: `${name}-499`, exact: true }).first().waitFor()
      console.log(`  500 ${view} shown after ${Date.now() - began} ms`)
      await many.page.getByLabel('Filter this list').fill(`${name}-42`)
      await many.page.getByText('11 of 500').waitFor()
    }
    await many.context.close()
  })

  await step('the views of access say what is wrong and what to do', async () => {
    const broken = await open({ storageState: await context.storageState() })
    await impatient(broken.context)
    broken.watch.quiet = false
    const places = [['grants', '**/api/v1/tenants/lab/grants?*'], ['grants/finance', '**/api/v1/tenants/lab/grants/finance'], ['groups', '**/api/v1/tenants/lab/principals?*'], ['explain?principal=finance-bot&card=echo&operation=send', '**/authz/explain?*'], ['limits', '**/api/v1/tenants/lab/limits'], ['issuers', '**/api/v1/tenants/lab/issuers?*'], ['issuers/corp', '**/api/v1/tenants/lab/issuers/corp']]
    for (const [view, path] of places) {
      for (const [answer, words] of [[500, 'The gateway failed'], [0, 'can’t be reached']]) {
        await broken.page.route(path, (route) => (answer ? route.fulfill({ status: answer, json: { code: 'x', message: 'said', correlation_id: 'c-1' } }) : route.abort()))
        await broken.page.goto(`${ADMIN}/t/lab/${view}`)
        await broken.page.getByRole('alert').getByText(words).first().waitFor()
        if (answer === 500) await axeClean(broken.page, `${view}, ${answer}`)
        await broken.page.unroute(path)
      }
      await broken.page.getByRole('button', { name: 'Try again' }).first().click()
      await broken.page.getByRole('alert').filter({ hasText: 'can’t be reached' }).waitFor({ state: 'detached' })
    }
    await broken.context.close()
  })
}
