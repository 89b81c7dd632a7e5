// Every control of a view by Tab alone, in a real browser: each is reached, and looks otherwise while it has the focus.

/** One view of each kind of control. */
const KEYBOARD_VIEWS = [
  '/t/default/mission', '/t/default/agents', '/t/default/agents/echo?tab=source', '/t/default/register', '/t/default/principals', '/t/lab/principals/finance-bot', '/t/lab/policies/code-names', '/t/lab/conditions', '/t/lab/grants',
  '/t/lab/explain?principal=finance-bot&card=echo', '/t/lab/limits', '/t/lab/issuers/corp', '/t/lab/agents/echo?tab=settings', '/t/default/signing-keys', '/t/default/audit', '/settings', '/admins',
]
/** Marks each control that is shown and can be used; of those that share one place in the order of Tab, that place. */
function markControls() {
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [role="button"], [contenteditable="true"], [tabindex]')].filter((one) => {
    const radio = one.matches('input[type="radio"]') && !one.checked
    return !radio && !one.disabled && one.tabIndex >= 0 && one.getClientRects().length > 0 && getComputedStyle(one).visibility !== 'hidden'
  })
  return controls.map((one, at) => {
    one.setAttribute('data-tab-mark', String(at))
    return { mark: String(at), name: `${one.tagName} ${one.getAttribute('aria-label') ?? one.textContent.slice(0, 30)}` }
  })
}
/** Where the focus is, and whether it looks otherwise than without it. */
function whereFocusIs() {
  const at = document.activeElement
  if (!at || at === document.body) return { name: '' }
  const look = () => [at, at.parentElement, at.nextElementSibling].filter(Boolean).map((one) => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor, backgroundColor } = getComputedStyle(one)
    return [outlineStyle === 'none' ? '' : outlineStyle + outlineWidth, boxShadow, borderColor, backgroundColor].join()
  }).join(';')
  const focused = look()
  at.blur()
  const plain = look()
  at.focus()
  const box = at.getBoundingClientRect()
  return { mark: at.getAttribute('data-tab-mark'), name: `${at.tagName} ${at.getAttribute('aria-label') ?? at.textContent.slice(0, 30)}`, shown: box.width > 0 && box.height > 0, marked: focused !== plain }
}

export async function keyboardSteps({ step, check, walk, settled, ADMIN }) {
  await step('every control is reached by Tab, and seen to be', async () => {
    let reached = 0
    await walk(KEYBOARD_VIEWS, async ({ page }, path) => {
      await page.emulateMedia({ reducedMotion: 'reduce' })
      await page.goto(ADMIN + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await settled(page)
      if (/source|policies\/|conditions/.test(path)) await page.locator('.cm-content').waitFor()
      const wanted = await page.evaluate(markControls)
      const seen = new Set()
      for (let presses = 0; presses < wanted.length + 20 && seen.size < wanted.length; presses++) {
        await page.keyboard.press('Tab')
        const at = await page.evaluate(whereFocusIs)
        if (at.name === '') continue
        if (at.mark) seen.add(at.mark)
        check(at.shown && at.marked, `${path}: focus can be seen on ${at.name}`)
      }
      for (const { mark, name } of wanted) check(seen.has(mark), `${path}: Tab reaches ${name}`)
      reached += seen.size
    })
    console.log(`  ${reached} controls of ${KEYBOARD_VIEWS.length} views`)
  })
}
