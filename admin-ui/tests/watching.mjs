// What was called and what would have been stopped, in a real browser: shadow counts, an audit of very many records, a
// tree of calls.

import { execFileSync } from 'node:child_process'

/** Records past the gateway: many, and a tree of calls. */
export const FILL = `
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=60)
many = int(sys.argv[2])
columns = 'writer, seq, tenant, at_open, at_close, principal, key_id, card, operation, dialect, outcome, status, correlation_id, task_id, chain_root, document'
row = lambda seq, **more: tuple({**dict(writer='w-bulk', seq=seq, tenant='bulk', at_open=1700000000000000 + seq * 1000000, at_close=1700000000004000 + seq * 1000000, principal='prn-%d' % (seq % 7), key_id='key-1', card='card-%d' % (seq % 5), operation='SendMessage', dialect='v10_jsonrpc', outcome='blocked' if seq % 50 == 0 else 'ok', status=200, correlation_id='bulk-%d' % seq, task_id='task-%d' % (seq // 10), chain_root='bulk-%d' % seq, document=b'{}'), **more}.values())
def hop(seq, parent, depth):
    opened = dict(tenant='bulk', peer='127.0.0.1', correlation_id='tree-%d' % seq, method='POST', entrance='call')
    if parent is not None: opened['delegation'] = dict(root='tree-0', parent='tree-%d' % parent, depth=depth, actor='agent:prn-1', subject='agent:prn-0', chain='prn-0>card-0,prn-1>card-1')
    return row(many + seq, correlation_id='tree-%d' % seq, chain_root='tree-0', document=json.dumps(dict(opened=opened)).encode())
rows = [row(seq) for seq in range(many)] + [hop(0, None, 0), hop(1, 0, 1), hop(2, 1, 2), hop(3, 0, 1)]
with db: db.executemany('INSERT INTO audit_records (%s) VALUES (%s)' % (columns, ', '.join('?' * 16)), rows)
`

/** The steps; what they leave to be looked at later is given back as a step. */
export async function watchingSteps({ step, check, axeClean, api, call, picture, page, WORK, ADMIN }) {
  await step('what shadow mode would have done leads to the calls', async () => {
    const put = async (path, body) => {
      const answer = await api('POST', path, body)
      check(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`)
      return answer.body
    }
    await put('/tenants', { name: 'shady', spec: {} })
    await put('/tenants/shady/principals', { name: 'caller', spec: {} })
    await put('/tenants/shady/principals', { name: 'ghost', spec: {} })
    await put('/tenants/shady/grants', { name: 'all', spec: { principal: 'caller', cards: ['*'], operations: ['*'] } })
    await put('/tenants/shady/grants', { name: 'maybe', spec: { principal: 'ghost', mode: 'shadow', cards: ['*'], operations: ['*'] } })
    await put('/tenants/shady/policies', { name: 'watchful', spec: { surfaces: ['a2a_inbound'], mode: 'shadow', detectors: [{ id: 'words', name: 'birds', words: ['grey heron'], action: 'block' }] } })
    const echo = (await api('GET', '/tenants/lab/cards/echo')).body.spec
    await put('/tenants/shady/cards', { name: 'echo', spec: { card: echo.card, upstream: { interfaces: echo.upstream.interfaces }, policy: 'watchful' } })
    const caller = (await put('/tenants/shady/keys', { principal: 'caller' })).key
    const ghost = (await put('/tenants/shady/keys', { principal: 'ghost' })).key
    for (const [who, text] of [[caller, 'hello'], [caller, 'a grey heron'], [caller, 'two grey heron'], [ghost, 'boo']]) check((await call('shady', 'echo', who, text)).status === 200, `${text} passes`)
    for (let tries = 0; tries < 100 && (await api('GET', '/audit?tenant=shady')).body.items.length < 4; tries++) await new Promise((done) => setTimeout(done, 100))
    await page.goto(`${ADMIN}/t/shady/mission`)
    await page.getByRole('region', { name: 'What shadow mode would have done' }).getByText('would have denied 1 of 4 calls').waitFor()
    await axeClean(page, 'mission with shadow counts')
    await page.goto(`${ADMIN}/t/shady/policies`)
    await page.getByRole('link', { name: 'would have blocked 2 of 4 calls' }).click()
    await page.getByText('Records 1 to 2, newest first').waitFor()
    await axeClean(page, 'audit, narrowed')
    await page.getByRole('button', { name: 'Don’t narrow by: would have been blocked by watchful' }).click()
    await page.getByText('Records 1 to 4, newest first').waitFor()
    await page.goto(`${ADMIN}/t/shady/audit?finding=words`)
    await page.getByRole('region', { name: 'Audit' }).getByRole('row').nth(1).getByRole('link').click()
    await page.getByRole('region', { name: 'Findings' }).getByText('words:birds').waitFor()
    await page.getByRole('region', { name: 'Findings' }).getByRole('link', { name: 'watchful@1' }).waitFor()
    await page.getByRole('region', { name: 'Findings' }).getByText(/bytes \d+ to \d+/).waitFor()
    await page.getByRole('region', { name: 'Exchanges of the task' }).getByText('this one').waitFor()
    await page.getByRole('tab', { name: 'Exchanges of the context' }).click()
    await page.getByRole('region', { name: 'Exchanges of the context' }).getByText('this one').waitFor()
    check(!(await page.locator('main').innerText()).toLowerCase().includes('grey'), 'what was said is not shown')
    await axeClean(page, 'exchange with its context')
  })

  let pages = Promise.resolve({ seen: 0, times: [] })
  let many = 0
  await step('an audit of a hundred thousand records scrolls by pages', async () => {
    many = 100_000 * Number(process.env.SCALE ?? 1)
    check((await api('POST', '/tenants', { name: 'bulk', spec: {} })).status === 201, 'a tenant for many')
    execFileSync('python3', ['-c', FILL, `${WORK}/data/chancery.db`, String(many)])
    pages = readAll(api)
    await page.goto(`${ADMIN}/t/bulk/audit`)
    await page.getByText('Records 1 to 100, newest first').waitFor()
    const elements = () => page.evaluate(() => document.querySelectorAll('#content *').length)
    let most = 0
    for (let number = 2; number <= 12; number++) {
      await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight))
      await page.getByText(new RegExp(`Records \\d+ to ${number * 100}, newest first`)).waitFor()
      if (number === 5) most = await elements()
    }
    const rows = await page.getByRole('region', { name: 'Audit' }).getByRole('row').count()
    check(rows <= 501 && await elements() <= most * 1.05, `the page stays bounded: ${rows} rows, ${await elements()} elements of ${most}`)
    console.log(`  after 1200 records: ${rows} rows, ${await elements()} elements`)
    for (let tries = 0; tries < 60 && await page.getByText(/Records 1 to/).count() === 0; tries++) {
      await page.evaluate(() => window.scrollTo(0, 0))
      await page.waitForTimeout(50)
    }
    check(await page.getByText(/Records 1 to/).count() === 1, 'and one comes back to the newest')
    await axeClean(page, 'audit of many')
    await page.goto(`${ADMIN}/t/bulk/exchanges/bulk-17`)
    await page.getByText('Whole exchange').waitFor()

    await page.goto(`${ADMIN}/t/bulk/exchanges/tree-2`)
    const tree = page.getByRole('region', { name: 'Delegation' }).getByRole('row')
    await tree.nth(4).waitFor()
    const indents = await tree.evaluateAll((rows) => rows.slice(1).map((row) => parseInt(row.cells[0].style.paddingLeft)))
    check(JSON.stringify(indents) === JSON.stringify([14, 32, 50, 32]), `each call under its cause: ${indents}`)
    check(await tree.nth(3).getByText('this one').count() === 1, 'the open one is marked')
    await axeClean(page, 'exchange in a tree')
    await picture(page, 'exchange-tree-light')
  })

  return () => step('every record is on one page, and the last page costs what the first does', async () => {
    const { seen, times } = await pages
    check(seen === many + 4, `each record once: ${seen}`)
    const least = (some) => Math.min(...some)
    const ratio = least(times.slice(-11, -1)) / least(times.slice(0, 10))
    check(ratio < 4, `the last page costs what the first does (${ratio.toFixed(2)})`)
    console.log(`  ${seen} records in ${times.length} pages; last page / first page: ${ratio.toFixed(2)}`)
  })
}

/** Every page of the many, while the browser looks at other things: how many records came, and what each page took. */
async function readAll(api) {
  const times = []
  let [cursor, seen] = ['', 0]
  do {
    const began = performance.now()
    const { body } = await api('GET', `/audit?tenant=bulk&limit=500&cursor=${cursor}`)
    times.push(performance.now() - began)
    seen += body.items.length
    cursor = body.next_cursor ?? ''
  } while (cursor)
  return { seen, times }
}
