#include <thrum/thrum.h>
