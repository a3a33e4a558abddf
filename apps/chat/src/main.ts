/** `npm start`: the reference chat app on 127.0.0.1. What it imports first would be compiled anew each time. */

import { enableCompileCache } from "node:module";

enableCompileCache();

const { runApp } = await import("./lib/run-app.ts");
await runApp();
