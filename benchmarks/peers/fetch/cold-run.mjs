// One whole process: imports, runs one tool once, says what that cost so far, exits.
import { make } from "./agent.mjs";

const answer = await make(process.argv[2]).run("k1");
if (!answer.includes("42")) throw new Error(`unexpected answer: ${answer}`);
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ answerMs: performance.now(), cpuMs: (user + system) / 1000 }));
process.exit(0);
