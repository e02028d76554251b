/* Owns nothing: the header compiles alone, as C99, C11 and C++, without a warning, and its constants fit its types. */
#include "wfstudio.h"

int main(void) {
    studio_buf buffer = STUDIO_BUF_EMPTY;
    int32_t codes[] = {STUDIO_OK, STUDIO_END, STUDIO_TIMEOUT, STUDIO_HOST_CALL, STUDIO_INVALID, STUDIO_BUSY};
    uint32_t version = STUDIO_ABI_VERSION;
    studio_buf_free(&buffer);
    return studio_abi_version() >> 16 == version >> 16 && codes[0] == 0 && studio_version()[0] != '\0' ? 0 : 1;
}
