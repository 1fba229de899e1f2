// Sessions: all conversations, and one of them with its timeline, transcript and restore packet.

import "./words.js";
import { showList } from "./list.js";
import { showOne } from "./one.js";

export default {
  id: "sessions",
  async mount(root, { args, query, go }) {
    const name = args[0];
    return name ? showOne(root, { name, query, go }) : showList(root, { go });
  },
};
