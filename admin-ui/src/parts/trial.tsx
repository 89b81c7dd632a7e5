// A test call to an agent, with its answer as it comes.

import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { problemOf, writeHeaders } from '../api/client'
import { readEvents } from '../api/events'
import { s } from '../strings'
import { Mark } from './marks'
import { Wrong } from './states'
import { Said } from './text'
import { duration } from './time'
import { spoken, type Heard } from './spoken'

export function Trial({ tenant, name, worked }: { tenant: string; name: string; worked?: () => void }): ReactNode {
  const [text, setText] = useState<string>(s.testDefault)
  const [heard, setHeard] = useState<Heard[]>([])
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])
  const run = async () => {
    const control = new AbortController()
    stop.current = control
    setBusy(true)
    setError(undefined)
    setHeard([])
    let fine = false
    try {
      const response = await fetch(`/api/v1/tenants/${encodeURIComponent(tenant)}/cards/${encodeURIComponent(name)}/try`, {
        method: 'POST', signal: control.signal, body: JSON.stringify({ text }),
        headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream', ...writeHeaders() },
      })
      if (!response.ok || !response.body) throw problemOf(response.status, await response.json().catch(() => null))
      await readEvents(response.body, (event) => {
        const one = spoken(event)
        if (one.kind === 'said') fine = true
        if (one.kind === 'bad') fine = false
        setHeard((all) => [...all.slice(-199), one])
      })
      if (fine) worked?.()
    } catch (problem) {
      if (!control.signal.aborted) setError(problem)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Stack gap={12}>
      <Textarea label={s.testText} value={text} onChange={(event) => setText(event.currentTarget.value)} autosize minRows={2} maxRows={8} />
      <Group>
        <Button onClick={() => void run()} loading={busy} disabled={text.trim() === ''}>{s.testRun}</Button>
        {busy && <Button variant="default" onClick={() => stop.current?.abort()}>{s.stop}</Button>}
      </Group>
      <Wrong error={error} />
      <div aria-live="polite">
        {heard.length > 0 && (
          <div className="code" style={{ display: 'grid', gap: 6 }}>
            {heard.map((one, at) => (
              <div key={at}>
                {one.kind === 'said' ? <Text size="sm" component="span" style={{ fontFamily: 'var(--mantine-font-family)' }}><Said>{one.text}</Said></Text>
                  : one.kind === 'bad' ? <Mark tone="bad" plain><Said>{one.text}</Said></Mark>
                  : one.kind === 'done' ? <span className="muted">{s.testDone(duration(Number(one.text)))}</span>
                  : <span className="muted"><Said>{one.text}</Said></span>}
              </div>
            ))}
          </div>
        )}
      </div>
    </Stack>
  )
}
