export { type ChosenModel, type ModelWish, chooseAdapter } from "./lib/choose-adapter.ts";
export { Conversation, type TurnOptions } from "./lib/conversation.ts";
export { dataHome } from "./lib/data-home.ts";
export { type ToolSourceOptions, openTools } from "./lib/open-tools.ts";
