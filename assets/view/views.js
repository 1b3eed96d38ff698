// The views of a run beside the round's own, each a class of its own file:
//   constructor(shell, container)   fills a part of its own in the container, out of sight
//   show(), hide()                  the reader comes and goes
//   update()                        more lines came, the run is another one, or the round or the language
//   destroy()                       and nothing listens any more
// A view's name is said by `views.NAME` in the words, and a link holds it.

import {Why} from './why/why.js';

export const VIEWS = {why: Why};
