// Charts over time. Loaded where they are shown. Every one has its figures as text beside it.

import { Area, AreaChart, CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import type { ReactNode } from 'react'
import type { Schemas } from '../api/client'
import { s } from '../strings'
import { grouped, milliseconds } from './figures'

type Slot = Schemas['Slot']

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const axis = { stroke: 'var(--mantine-color-dimmed)', fontSize: 11, tickLine: false, axisLine: false } as const
const box = { background: 'var(--panel)', border: '1px solid var(--line)', borderRadius: 6, fontSize: 12, color: 'var(--mantine-color-text)' }
const time = (at: string) => clock.format(new Date(at))

export default function Charts({ slots, what }: { slots: Slot[]; what: 'rate' | 'latency' }): ReactNode {
  const label = what === 'rate' ? s.chartRate : s.chartLatency
  return (
    <div style={{ height: 180, padding: '10px 6px 0 0' }} role="img" aria-label={label}>
      <ResponsiveContainer width="100%" height="100%">
        {what === 'rate' ? (
          <AreaChart data={grouped(slots)} margin={{ left: -18, right: 8 }} accessibilityLayer={false}>
            <CartesianGrid stroke="var(--line)" vertical={false} />
            <XAxis dataKey="at" tickFormatter={time} minTickGap={50} {...axis} />
            <YAxis allowDecimals={false} {...axis} />
            <Tooltip contentStyle={box} labelFormatter={(at) => time(String(at))} isAnimationActive={false} />
            <Area type="linear" dataKey="ok" name={s.outcomeOk} stackId="1" stroke="var(--mantine-primary-color-filled)" fill="var(--mantine-primary-color-filled)" fillOpacity={0.22} isAnimationActive={false} />
            <Area type="linear" dataKey="stopped" name={s.outcomeStopped} stackId="1" stroke="none" fill="var(--warn)" fillOpacity={0.75} isAnimationActive={false} />
            <Area type="linear" dataKey="failed" name={s.outcomeFailed} stackId="1" stroke="none" fill="var(--bad)" fillOpacity={0.75} isAnimationActive={false} />
          </AreaChart>
        ) : (
          <LineChart data={slots} margin={{ left: -8, right: 8 }} accessibilityLayer={false}>
            <CartesianGrid stroke="var(--line)" vertical={false} />
            <XAxis dataKey="at" tickFormatter={time} minTickGap={50} {...axis} />
            <YAxis tickFormatter={milliseconds} width={66} {...axis} />
            <Tooltip contentStyle={box} labelFormatter={(at) => time(String(at))} isAnimationActive={false} />
            <Line type="monotone" dataKey="p50_ms" name="p50" stroke="var(--mantine-primary-color-filled)" dot={false} strokeWidth={1.8} connectNulls isAnimationActive={false} />
            <Line type="monotone" dataKey="p95_ms" name="p95" stroke="var(--warn)" dot={false} strokeWidth={1.5} connectNulls isAnimationActive={false} />
            <Line type="monotone" dataKey="p99_ms" name="p99" stroke="var(--bad)" dot={false} strokeWidth={1.2} connectNulls isAnimationActive={false} />
          </LineChart>
        )}
      </ResponsiveContainer>
    </div>
  )
}
