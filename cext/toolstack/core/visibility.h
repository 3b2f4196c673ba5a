/* What the preloaded object exports; all else is hidden. */
#ifndef PSE_TOOLSTACK_VISIBILITY_H
#define PSE_TOOLSTACK_VISIBILITY_H

#define PSE_EXPORT __attribute__((visibility("default")))

#endif
