import { ToolRegistry, defineTool, ok, createGate } from "./tmpcore/index.ts";
import { randomUUID } from "node:crypto";
const registry = new ToolRegistry();
registry.register(defineTool({name:"echo",description:"Echo text back",contract:"read",inputSchema:{type:"object",properties:{text:{type:"string"}},required:["text"]},handler:({text})=>ok(text)}));
const gate=createGate(16);
const one=()=>registry.execute("echo",{text:"hi"},{callId:"call_"+randomUUID(),signal:new AbortController().signal,principal:{kind:"remote",id:"x",via:"local"},owner:"local",grants:[],origin:"model",scope:{gate}});
for(let r=0;r<6;r++){const c=process.cpuUsage();for(let i=0;i<100000;i++) await one();const d=process.cpuUsage(c);console.log(((d.user+d.system)/100000).toFixed(2));}
