// It may be text that ends at a zero, or bytes.
#include <thrum/buffer.h>

struct frame {
  char tag[4];
  char secret[8];
};

thrum::const_buffer tag_of(frame const& f) { return f.tag; }
