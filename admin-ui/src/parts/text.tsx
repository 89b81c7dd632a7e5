// Text that others wrote, shown as text: what can't be seen is made visible, nothing becomes markup.

import { Anchor } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu

/** The text in pieces: what is plain, and the code points of what would hide or turn its neighbours. */
export function pieces(text: string): { text: string; hidden: boolean }[] {
  const found: { text: string; hidden: boolean }[] = []
  let at = 0
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > at) found.push({ text: text.slice(at, match.index), hidden: false })
    found.push({ text: `U+${match[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`, hidden: true })
    at = match.index + match[0].length
  }
  if (at < text.length) found.push({ text: text.slice(at), hidden: false })
  return found
}

/** Somebody else's text. */
export function Said({ children }: { children: string | null | undefined }): ReactNode {
  if (!children) return null
  const all = pieces(children)
  if (all.length === 1 && !all[0]!.hidden) return <bdi>{children}</bdi>
  return (
    <bdi>
      {all.map((piece, at) =>
        piece.hidden ? (
          <span key={at} className="hidden-char" title="A character that is not shown">{piece.text}</span>
        ) : (
          <Fragment key={at}>{piece.text}</Fragment>
        ),
      )}
    </bdi>
  )
}

/** Whether a link that somebody else wrote may be one. */
export function isWebAddress(text: unknown): text is string {
  if (typeof text !== 'string' || !/^https?:\/\//i.test(text)) return false
  try {
    return ['http:', 'https:'].includes(new URL(text).protocol)
  } catch {
    return false
  }
}

/** A link out, if it is one to the web; else its text. */
export function Outward({ href, children }: { href: string; children?: ReactNode }): ReactNode {
  const text = children ?? <Said>{href}</Said>
  if (!isWebAddress(href)) return <span>{text}</span>
  return (
    <Anchor href={href} target="_blank" rel="noopener noreferrer" size="sm">{text}</Anchor>
  )
}
