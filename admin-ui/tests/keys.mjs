// What runs within the page for the walks by keyboard: which controls there are, where the focus is, and whether it can
// be seen. Nothing of it is a list of this page's controls.

/** Puts `globalThis.keys` into the page. */
export function install() {
  const CONTROLS = [
    'a[href]', 'button', 'input:not([type="hidden"])', 'select', 'textarea', 'summary', '[contenteditable="true"]',
    ...['button', 'link', 'tab', 'checkbox', 'switch', 'radio', 'menuitem', 'combobox', 'slider', 'spinbutton', 'textbox', 'treeitem'].map((role) => `[role="${role}"]`),
  ].join(',')
  /** Parts of a composite control that WAI-ARIA has the keys of that control do the work of, not Tab. */
  const INNER = [
    ['.mantine-NumberInput-control', 'a spin button: the arrows of its field do it'],
    ['.mantine-Pill-remove', 'a value of a list: Backspace in its field takes it out'],
    ['.mantine-InputClearButton-root', 'a combobox: choosing the chosen option again, or emptying its field, clears it'],
  ]
  const ids = new WeakMap()
  const all = []
  const idOf = (one) => {
    if (!ids.has(one)) ids.set(one, all.push(one) - 1)
    return ids.get(one)
  }
  const words = (one) => (one.getAttribute('aria-label') || one.labels?.[0]?.textContent || one.textContent || one.getAttribute('name') || one.getAttribute('placeholder') || '').trim().slice(0, 40)
  const nameOf = (one) => `${one.tagName.toLowerCase()}${one.getAttribute('role') ? `[${one.getAttribute('role')}]` : ''} “${words(one)}”`
  const isUsable = (one) => one.isConnected && one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0 && !one.matches(':disabled') && one.getAttribute('aria-disabled') !== 'true' && !one.closest('[inert]')

  /** The group whose arrows lead to a control, if Tab leads to another of the group. */
  function groupOf(one) {
    if (one.matches('input[type="radio"]')) {
      const group = [...document.querySelectorAll('input[type="radio"]')].filter((other) => other.name === one.name && other.form === one.form && isUsable(other))
      return { kind: 'radio', of: group, stop: group.find((other) => other.checked) ?? group[0] }
    }
    if (one.matches('[role="tab"]')) {
      const group = [...(one.closest('[role="tablist"]')?.querySelectorAll('[role="tab"]') ?? [])].filter(isUsable)
      return { kind: 'tab', of: group, stop: group.find((other) => other.tabIndex >= 0) }
    }
    return undefined
  }

  /** Every control within `root`: those that Tab has to reach, the groups that arrows have to walk, those that keys of others do. */
  function collect(root = document) {
    const usable = [...root.querySelectorAll(CONTROLS)].filter(isUsable).filter((one) => !one.parentElement?.closest('[contenteditable="true"]'))
    const found = { tab: [], groups: new Map(), inner: 0, mouse: [] }
    for (const one of usable) {
      const group = groupOf(one)
      if (group) {
        const stop = group.stop ? idOf(group.stop) : -1
        found.groups.set(group.of.map(idOf).join(), { kind: group.kind, of: group.of.map(idOf), names: group.of.map(nameOf), stop })
        if (group.stop !== one) continue
      }
      if (INNER.some(([selector]) => one.matches(selector))) found.inner += 1
      else found.tab.push({ id: idOf(one), name: nameOf(one) })
    }
    // What shows a hand to the mouse and is no control, nor part of one, is out of the keyboard's reach. What a picture
    // has is told by the table beside it.
    for (const one of root.querySelectorAll('body *, [role="dialog"] *')) {
      if (getComputedStyle(one).cursor !== 'pointer' || one.closest(`${CONTROLS}, label, [role="img"], [role="option"], .cm-editor`) || one.querySelector(CONTROLS)) continue
      if (one.checkVisibility() && (!one.parentElement || getComputedStyle(one.parentElement).cursor !== 'pointer')) found.mouse.push(nameOf(one))
    }
    return { ...found, groups: [...found.groups.values()] }
  }

  /** How a control and what belongs to it look: its wrapper, its label, what is drawn beside it. */
  function look(one) {
    const around = [one, one.parentElement, one.parentElement?.parentElement, one.previousElementSibling, one.nextElementSibling, ...(one.labels ?? []), one.closest('.cm-editor')]
    const styles = new Map()
    for (const each of new Set(around.filter(Boolean))) {
      const box = each.getBoundingClientRect()
      if (box.width < 4 || box.height < 4 || Number(getComputedStyle(each).opacity) === 0) continue
      const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderWidth, borderStyle, borderColor, backgroundColor } = getComputedStyle(each)
      const outline = outlineStyle === 'none' || parseFloat(outlineWidth) === 0 || outlineColor.endsWith(', 0)') ? '' : `${outlineStyle} ${outlineWidth} ${outlineColor}`
      const border = borderStyle === 'none' || borderWidth === '0px' ? '' : `${borderStyle} ${borderWidth} ${borderColor}`
      styles.set(each, [outline, boxShadow, border, backgroundColor].join(' | '))
    }
    return styles
  }
  const differs = (one, other) => [...one].some(([each, style]) => other.has(each) && other.get(each) !== style)

  /** Whether at least a part of the control lies on top, within the window. */
  function isOnTop(one) {
    const seen = [one, ...(one.labels ?? []), one.nextElementSibling, one.parentElement].find((each) => each && each.getBoundingClientRect().width >= 4 && each.getBoundingClientRect().height >= 4)
    if (!seen) return false
    const box = seen.getBoundingClientRect()
    const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)]
    const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)]
    if (right - left < 2 || bottom - top < 2) return false
    const points = [0.5, 0.1, 0.9].flatMap((x) => [0.5, 0.1, 0.9].map((y) => [left + (right - left) * x, top + (bottom - top) * y]))
    return points.some(([x, y]) => {
      const hit = document.elementFromPoint(x, y)
      return hit && (seen.contains(hit) || hit.contains(seen) && hit !== document.body && hit !== document.documentElement)
    })
  }

  let last
  /** Where the focus is now, and whether the control that had it before looked otherwise while it had it. */
  function at(inside = document.body) {
    const here = document.activeElement
    const left = last && last.one !== here && last.one.isConnected ? { name: nameOf(last.one), marked: differs(last.look, look(last.one)) } : undefined
    const isNowhere = !here || here === document.body || here === document.documentElement
    last = isNowhere ? undefined : { one: here, look: look(here) }
    return isNowhere ? { left } : { left, id: idOf(here), name: nameOf(here), onTop: isOnTop(here), inside: inside.contains(here) }
  }
  globalThis.keys = { collect, at, focus: (id) => all[id]?.focus(), isHere: (id) => document.activeElement === all[id], isUsable: (id) => isUsable(all[id]) }
}
