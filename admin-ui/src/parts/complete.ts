// Completion and checks of an agent card in the JSON editor, by its schema. Loaded with the editor, never before.

import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import { syntaxTree } from '@codemirror/language'
import { linter, type Diagnostic } from '@codemirror/lint'
import type { EditorState, Extension } from '@codemirror/state'
import type { SyntaxNode } from '@lezer/common'
import schemas from './agentcard.schema.json'
import { placeOf } from './place'
import { members, misfits, rootOf, values, type Cards, type Path } from './schema'

const cards = schemas as Cards

/** What the author has written so far, as far as it is JSON. */
function written(state: EditorState): unknown {
  try {
    return JSON.parse(state.doc.toString())
  } catch {
    // Half a document still shows its generation by the names of its members.
    const names = [...state.doc.toString().matchAll(/"(supportedInterfaces|url|protocolVersion|preferredTransport|additionalInterfaces)"\s*:/g)].map((match) => match[1]!)
    // Interfaces of 1.0 have members of these names, too.
    return Object.fromEntries((names.includes('supportedInterfaces') ? ['supportedInterfaces'] : names).map((name) => [name, true]))
  }
}

function textOf(state: EditorState, node: SyntaxNode): string {
  return state.sliceDoc(node.from, node.to).replace(/^"|"$/g, '')
}

/** The way from the root to a node: names of members, places in lists. */
export function pathTo(state: EditorState, node: SyntaxNode | null): Path {
  const path: Path = []
  for (let at = node; at?.parent; at = at.parent) {
    const parent = at.parent
    if (parent.name === 'Property') {
      const name = parent.getChild('PropertyName')
      if (name && at.name !== 'PropertyName') path.unshift(textOf(state, name))
    } else if (parent.name === 'Array') {
      let place = 0
      for (let before = at.prevSibling; before; before = before.prevSibling) if (before.name !== '[' && before.name !== ',' && !before.type.isError) place++
      path.unshift(place)
    }
  }
  return path
}

export function complete(context: CompletionContext): CompletionResult | null {
  const { state, pos } = context
  const root = rootOf(cards, written(state))
  const node = syntaxTree(state).resolveInner(pos, -1)
  const word = context.matchBefore(/"?[\w+.]*/)
  const from = word?.from ?? pos
  if (!context.explicit && (!word || word.from === word.to)) return null
  const before = state.sliceDoc(Math.max(0, from - 200), from).trimEnd()
  // After a colon, or between the brackets of a list, a value is wanted; after { or a comma in an object, a name.
  const property = enclosing(node, 'Property')
  if (before.endsWith(':') && property) {
    const name = property.getChild('PropertyName')
    return result(from, pos, state, values(root, [...pathTo(state, property), ...(name ? [textOf(state, name)] : [])]))
  }
  const object = enclosing(node, 'Object')
  const list = enclosing(node, 'Array')
  if (list && (!object || list.from > object.from)) return null
  if (!object) return null
  const there = object.getChildren('Property').flatMap((one) => {
    const name = one.getChild('PropertyName')
    // The one that is being written may still be any.
    return name && !(name.from <= pos && pos <= name.to) ? [textOf(state, name)] : []
  })
  return result(from, pos, state, members(root, pathTo(state, object), there))
}

function enclosing(node: SyntaxNode, name: string): SyntaxNode | null {
  let at: SyntaxNode | null = node
  while (at && at.name !== name) at = at.parent
  return at
}

function result(from: number, pos: number, state: EditorState, offers: { label: string; detail: string; insert: string }[]): CompletionResult | null {
  if (offers.length === 0) return null
  const quoted = state.sliceDoc(from, from + 1) === '"'
  // A quote that the editor closed by itself is replaced as well.
  const to = quoted && state.sliceDoc(pos, pos + 1) === '"' ? pos + 1 : pos
  const hasValue = /^\s*:/.test(state.sliceDoc(to, to + 20))
  const options = offers.map((offer): Completion => ({
    label: quoted ? `"${offer.label}` : offer.label, displayLabel: offer.label, detail: offer.detail.slice(0, 90),
    apply: (view) => {
      const insert = hasValue ? offer.insert.slice(0, offer.insert.indexOf(':')) : offer.insert
      const inside = /(""|\[\]|\{\})$/.test(insert) ? 1 : 0
      view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length - inside }, userEvent: 'input.complete' })
    },
  }))
  return { from, options, validFor: /^"?[\w+.]*$/ }
}

export function cardLint(state: EditorState): Diagnostic[] {
  const text = state.doc.toString()
  let card: unknown
  try {
    card = JSON.parse(text)
  } catch {
    return []
  }
  return misfits(rootOf(cards, card), card).map(({ path, problem, severity }) => ({ ...placeOf(text, path.join('/')), severity, message: problem }))
}

/** What an editor of agent cards has besides. */
export function agentCard(): Extension {
  return [autocompletion({ override: [complete], icons: false, activateOnTyping: true }), linter((view) => cardLint(view.state))]
}
