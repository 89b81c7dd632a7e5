// The page in a real browser, on a gateway of its own, part by part. ONLY=keyboard,axe runs these alone, on what they
// need and no more.

import { accessStates, accessSteps } from './access.mjs'
import { changesSteps } from './changes.mjs'
import { conditionsSteps } from './conditions.mjs'
import { has, need } from './ground.mjs'
import { hostileSteps } from './hostile.mjs'
import { firstRun, journey, journeysEnd } from './journey.mjs'
import { keyboardSteps } from './keyboard.mjs'
import { AGENTS, axed, browser, env, kit, problems } from './kit.mjs'
import { speedSteps } from './speed.mjs'
import { countSteps, downSteps, stateSteps } from './states.mjs'
import { atWork, axeSteps, phoneSteps } from './views.mjs'
import { watchingSteps } from './watching.mjs'

const ALL = ['lab', 'access', 'conditions']
let everyRecord = async () => undefined

/** In the order of a whole run: what each part needs, and what it makes for those after it. */
const PARTS = [
  { name: 'journey', needs: [], makes: ['lab'], run: journey },
  { name: 'watching', needs: ['lab'], makes: ['bulk'], run: async () => { everyRecord = await watchingSteps(kit) } },
  { name: 'journeysend', needs: [], makes: [], run: journeysEnd, with: 'journey' },
  { name: 'access', needs: ['lab'], makes: ['access'], run: () => accessSteps(kit) },
  { name: 'conditions', needs: ['lab', 'access'], makes: ['conditions'], run: () => conditionsSteps(kit) },
  { name: 'changes', needs: ['lab', 'access'], makes: [], run: () => changesSteps({ ...kit, env, agent: `${AGENTS}/a2a/echo` }) },
  { name: 'keyboard', needs: ALL, makes: [], run: keyboardSteps },
  { name: 'hostile', needs: [], makes: [], run: hostileSteps },
  { name: 'axe', needs: ALL, makes: [], run: axeSteps },
  { name: 'records', needs: [], makes: [], run: () => everyRecord(), with: 'watching' },
  { name: 'phone', needs: [...ALL, 'bulk'], makes: [], run: phoneSteps },
  { name: 'states', needs: ALL, makes: [], run: () => stateSteps().then(() => accessStates(kit)) },
  { name: 'counts', needs: ['lab'], makes: [], run: countSteps },
  { name: 'down', needs: [], makes: [], run: downSteps },
  { name: 'speed', needs: [], makes: [], run: speedSteps },
]

const only = (process.env.ONLY ?? '').split(',').filter(Boolean)
const unknown = only.filter((name) => !PARTS.some((part) => part.name === name))
if (unknown.length > 0) {
  console.log(`parts: ${PARTS.map((part) => part.name).join(', ')}`)
  process.exit(unknown[0] === '?' ? 0 : 2)
}

const began = Date.now()
await firstRun()
const rest = atWork()
for (const part of PARTS) {
  if (only.length > 0 && !only.includes(part.name) && !only.includes(part.with)) continue
  if (only.length > 0) await need(part.needs)
  await part.run()
  has(part.makes)
}
rest()
await browser.close()
console.log(`\n${axed.runs} runs of axe, ${axed.rules} rules each; ${((Date.now() - began) / 1000).toFixed(0)} s in all`)
if (problems.length > 0) {
  console.log(`\n${problems.length} problem(s):`)
  for (const problem of problems) console.log(`- ${problem}`)
  process.exit(1)
}
console.log('\nthe page passed')
