// What stands beside the rejected ones: if this does not compile, their errors say nothing.
#include <thrum/buffer.h>

struct frame {
  char tag[4];
  char secret[8];
};

thrum::const_buffer tag_of(frame const& f) { return {f.tag, sizeof f.tag}; }
