// Exports that are safe to open: a cell that a spreadsheet would take for a formula is text, hidden characters are told.

import type { Record_ } from '../api/shapes'

const COLUMNS = ['id', 'tenant', 'opened_at', 'closed_at', 'principal', 'principal_id', 'key_id', 'card', 'operation', 'dialect', 'outcome', 'fault', 'status', 'correlation_id', 'task_id'] as const

/** One cell: quoted, and with an apostrophe before what would be a formula. */
export function cell(value: unknown): string {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}

export function csv(records: Record_[]): string {
  const lines = [COLUMNS.map(cell).join(',')]
  for (const record of records) lines.push(COLUMNS.map((name) => cell(record[name])).join(','))
  return `${lines.join('\r\n')}\r\n`
}

export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 1000)
}
