// Descriptors that can be polled, and files.
#pragma once

#include <thrum/buffer.h>
#include <thrum/fd.h>
#include <thrum/file.h>
