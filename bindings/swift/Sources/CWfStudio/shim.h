/* The header of the installed library. */
#include <wfstudio.h>
