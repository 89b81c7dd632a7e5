// Times: local for people, UTC on hover; how long ago where that is what matters.

import { useEffect, useState, type ReactNode } from 'react'

const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })

export function utc(iso: string): string {
  return `${iso.replace('T', ' ').replace(/(\.\d{3})\d*/, '$1').replace('Z', '')} UTC`
}

/** "4 min ago", as far back as that says something. */
export function ago(iso: string, now: number): string {
  const seconds = Math.round((now - Date.parse(iso)) / 1000)
  if (Number.isNaN(seconds)) return iso
  if (seconds < 0) return full.format(new Date(iso))
  if (seconds < 5) return 'just now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  if (seconds < 30 * 86_400) return `${Math.floor(seconds / 86_400)} d ago`
  return full.format(new Date(iso))
}

export function When({ at, style = 'full' }: { at: string | null | undefined; style?: 'full' | 'clock' | 'ago' }): ReactNode {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (style !== 'ago') return
    const timer = setInterval(() => setNow(Date.now()), 15_000)
    return () => clearInterval(timer)
  }, [style])
  if (!at) return <span className="muted">–</span>
  const date = new Date(at)
  const text = style === 'ago' ? ago(at, Math.max(now, Date.now())) : style === 'clock' ? clock.format(date) : full.format(date)
  return <time dateTime={at} title={utc(at)} className="num" style={{ whiteSpace: 'nowrap' }}>{text}</time>
}

/** Microseconds for people. */
export function duration(us: number): string {
  if (us < 1000) return `${us} µs`
  if (us < 10_000) return `${(us / 1000).toFixed(1)} ms`
  if (us < 1_000_000) return `${Math.round(us / 1000)} ms`
  if (us < 60_000_000) return `${(us / 1_000_000).toFixed(1)} s`
  return `${Math.round(us / 60_000_000)} min`
}
