// Pieces that many views have: a page with its head, panels, code to copy, a question before what can't be undone.

import { Button, CopyButton, Group, Modal, Stack, Text, TextInput, Title } from '@mantine/core'
import { useEffect, useState, type ReactNode } from 'react'
import { s } from '../strings'

export function Page({ title, crumbs, actions, children, lead }: {
  title: ReactNode
  /** The title of the browser's tab, where `title` is no text. */
  crumbs?: ReactNode
  actions?: ReactNode
  lead?: ReactNode
  children: ReactNode
}): ReactNode {
  useEffect(() => {
    if (typeof title === 'string') document.title = `${title} · Chancery`
  }, [title])
  return (
    <div className="page">
      {crumbs && <nav aria-label={s.breadcrumbs} className="crumbs">{crumbs}</nav>}
      <Group justify="space-between" mb={lead ? 4 : 16} gap={12}>
        <Title order={1}>{title}</Title>
        {actions && <Group gap={8}>{actions}</Group>}
      </Group>
      {lead && <Text className="lead" size="sm" c="dimmed" mb={16} maw={760}>{lead}</Text>}
      {children}
    </div>
  )
}

export function Panel({ title, actions, children, flush = false, id }: {
  title?: ReactNode
  actions?: ReactNode
  children: ReactNode
  flush?: boolean
  id?: string
}): ReactNode {
  return (
    <section className="panel" aria-label={typeof title === 'string' ? title : undefined} id={id}>
      {title && (
        <div className="panel-head">
          <Title order={2}>{title}</Title>
          {actions && <Group gap={8}>{actions}</Group>}
        </div>
      )}
      {flush ? children : <div className="panel-body">{children}</div>}
    </section>
  )
}

export function Copy({ text, label = s.copy }: { text: string; label?: string }): ReactNode {
  return (
    <CopyButton value={text} timeout={1500}>
      {({ copied, copy }) => (
        <Button size="compact-xs" variant="default" onClick={copy}>{copied ? s.copied : label}</Button>
      )}
    </CopyButton>
  )
}

export function Code({ text, label }: { text: string; label: string }): ReactNode {
  return (
    <div style={{ position: 'relative' }}>
      <pre className="code" tabIndex={0} aria-label={label} style={{ maxHeight: 380, paddingRight: 80 }}>{text}</pre>
      <div style={{ position: 'absolute', top: 8, right: 8 }}><Copy text={text} /></div>
    </div>
  )
}

/** A question before something that can't be undone, with what follows from it. */
export function Confirm({ open, close, title, consequence, action, confirm, word }: {
  open: boolean
  close: () => void
  title: string
  consequence: ReactNode
  action: string
  confirm: () => Promise<unknown>
  /** Has to be typed in, where much is lost. */
  word?: string
}): ReactNode {
  const [typed, setTyped] = useState('')
  const [busy, setBusy] = useState(false)
  useEffect(() => setTyped(''), [open])
  const run = async () => {
    setBusy(true)
    try {
      await confirm()
      close()
    } finally {
      setBusy(false)
    }
  }
  return (
    <Modal opened={open} onClose={close} title={title}>
      <Stack gap={14}>
        <Text size="sm">{consequence}</Text>
        {word && (
          <TextInput label={s.typeToConfirm(word)} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} data-autofocus />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>{s.cancel}</Button>
          <Button color="red.9" loading={busy} disabled={word !== undefined && typed !== word} onClick={() => void run().catch(() => undefined)}>{action}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
