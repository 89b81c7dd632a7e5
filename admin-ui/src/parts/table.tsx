// Tables: sorted by any column with the keyboard too, filtered by what is typed.

import { Group, TextInput } from '@mantine/core'
import {
  flexRender, getCoreRowModel, getFilteredRowModel, getSortedRowModel, useReactTable,
  type ColumnDef, type SortingState,
} from '@tanstack/react-table'
import { useState, type ReactNode } from 'react'
import { s } from '../strings'

export type Columns<T> = ColumnDef<T, string | number>[]

export function DataTable<T>({ rows, columns, label, searchable = false, empty }: {
  rows: T[]
  columns: Columns<T>
  label: string
  searchable?: boolean
  empty?: ReactNode
}): ReactNode {
  const [sorting, setSorting] = useState<SortingState>([])
  const [globalFilter, setGlobalFilter] = useState('')
  const table = useReactTable({
    data: rows, columns, state: { sorting, globalFilter }, onSortingChange: setSorting, onGlobalFilterChange: setGlobalFilter,
    getCoreRowModel: getCoreRowModel(), getSortedRowModel: getSortedRowModel(), getFilteredRowModel: getFilteredRowModel(),
    globalFilterFn: 'includesString',
  })
  const shown = table.getRowModel().rows
  return (
    <>
      {searchable && rows.length > 5 && (
        <Group p={10} style={{ borderBottom: '1px solid var(--line)' }}>
          <TextInput
            aria-label={s.filterList} placeholder={s.filterList} value={globalFilter} size="xs" w={240}
            onChange={(event) => setGlobalFilter(event.currentTarget.value)}
          />
          <span className="muted" style={{ fontSize: 12 }}>{s.shownOf(shown.length, rows.length)}</span>
        </Group>
      )}
      <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(label)}>
        <table className="grid">
          <thead>
            {table.getHeaderGroups().map((group) => (
              <tr key={group.id}>
                {group.headers.map((header) => {
                  const sorted = header.column.getIsSorted()
                  return (
                    <th key={header.id} scope="col" aria-sort={sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : undefined}>
                      {header.column.getCanSort() && header.column.accessorFn ? (
                        <button type="button" onClick={header.column.getToggleSortingHandler()}>
                          {flexRender(header.column.columnDef.header, header.getContext())}
                          <span aria-hidden="true">{sorted === 'asc' ? ' ↑' : sorted === 'desc' ? ' ↓' : ''}</span>
                        </button>
                      ) : (
                        flexRender(header.column.columnDef.header, header.getContext())
                      )}
                    </th>
                  )
                })}
              </tr>
            ))}
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={row.id}>
                {row.getVisibleCells().map((cell) => <td key={cell.id}>{flexRender(cell.column.columnDef.cell, cell.getContext())}</td>)}
              </tr>
            ))}
            {shown.length === 0 && (
              <tr><td colSpan={columns.length} className="muted">{globalFilter ? s.nothingMatches : (empty ?? s.nothingHere)}</td></tr>
            )}
          </tbody>
        </table>
      </div>
    </>
  )
}
