export { type ChosenModel, type ModelWish, chooseAdapter } from "./lib/choose-adapter.ts";
export { Conversation, type TurnOptions } from "./lib/conversation.ts";
export { LOCAL_OWNER, localPerson } from "./lib/answer-tickets.ts";
export { type HomeStores, openHomeStores } from "./lib/home-stores.ts";
export { openHttpToken } from "./lib/http-token.ts";
export { dataHome } from "./lib/data-home.ts";
export { type ToolSourceOptions, openTools } from "./lib/open-tools.ts";
