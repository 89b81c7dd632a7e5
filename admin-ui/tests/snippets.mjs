// The calls that the page shows to copy, run as the programs they are: by a shell, by Node with the official JavaScript
// SDK, by Python with the official Python SDK, all of the versions that the conformance suite pins.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { CHANCERY, check, SDK_MODULES, SDK_PYTHON, WORK } from './kit.mjs'

const LANGUAGES = ['curl', 'Python', 'JavaScript', 'chancery call']
/** What a program needs that its text says to install. */
const NEEDS = { Python: 'a2a-sdk', JavaScript: '@a2a-js/sdk' }

/** The text of a language, as it is on the page. */
export async function snippetOf(page, language) {
  await page.getByRole('tab', { name: language, exact: true }).click()
  return page.locator(`pre[aria-label="${language}"]`).innerText()
}

/** Everything that the program prints; unless it `mayFail`, it has to end well. */
export function printed(language, text, env = {}, mayFail = false) {
  const place = `${WORK}/calls`
  if (!existsSync(place)) {
    mkdirSync(`${place}/bin`, { recursive: true })
    symlinkSync(CHANCERY, `${place}/bin/chancery`)
    symlinkSync(SDK_MODULES, `${place}/node_modules`)
  }
  const [program, file] = { Python: [SDK_PYTHON, 'call.py'], JavaScript: ['node', 'call.mjs'] }[language] ?? ['bash', 'call.sh']
  writeFileSync(`${place}/${file}`, text)
  const done = spawnSync(program, [file], { cwd: place, encoding: 'utf8', timeout: 60_000, env: { ...process.env, PYTHONWARNINGS: 'ignore', PATH: `${place}/bin:${process.env.PATH}`, ...env } })
  check(mayFail || done.status === 0, `${language} ends well: ${done.status} ${done.stderr.slice(-400)}`)
  return done.stdout + done.stderr
}

/** Runs every language's text and looks for the agent's echo; the key is in the text, or in the environment. */
export async function runs(page, how, env = {}) {
  for (const language of LANGUAGES) {
    const text = await snippetOf(page, language)
    if (NEEDS[language]) check(text.includes(`install`) && text.includes(NEEDS[language]), `${language} says what to install`)
    check(text.includes('API_KEY') === ('API_KEY' in env), `${language}, ${how}: whose key it has`)
    check(printed(language, text, env).includes('hello'), `${language}, ${how}: the agent answered`)
  }
  console.log(`  ${LANGUAGES.length} programs ran ${how} (SDKs: ${versions()})`)
}

function versions() {
  const python = execFileSync(SDK_PYTHON, ['-c', 'from importlib.metadata import version; print(version("a2a-sdk"))'], { encoding: 'utf8' }).trim()
  const node = JSON.parse(execFileSync('node', ['-p', `JSON.stringify(require("${SDK_MODULES}/@a2a-js/sdk/package.json").version)`], { encoding: 'utf8' }))
  return `a2a-sdk ${python}, @a2a-js/sdk ${node}`
}
