// What is loaded first: the layout, whose worker then gets ready while the rest of the page is loaded.

import "./graph/layout";

void import("./desk");
