import { ToolRegistry, defineTool, ok, createGate } from "@openfunctions/core";
const mode=process.argv[2];
const registry = new ToolRegistry();
registry.register(defineTool({name:"echo",description:"Echo text back",contract:mode==="w"?"write":"read",inputSchema:{type:"object",properties:{text:{type:"string"}},required:["text"]},handler:({text})=>ok(text)}));
const gate=createGate(16);let k=0; const sig=new AbortController().signal;
for(let i=0;i<400000;i++) await registry.execute("echo",{text:"hi"},{callId:"call_"+k++,...(mode==="sig"?{signal:new AbortController().signal}:mode==="onesig"?{signal:sig}:{}),scope:{gate}});
console.log(mode, process.cpuUsage().user/400000);
