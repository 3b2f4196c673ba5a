/* Finds the symbol of a library's function while its file says something else than what was loaded, and looks
 * at that file as at a tool's: one run for each set of bytes that are garbled, in the headers and tables or
 * anywhere.  Arguments: the library, and how often. */
#include "elf/elf_file.h"
#include "regions/symbols.c"

int main(int count, char **words)
{
    void *library = count > 2 ? dlopen(words[1], RTLD_NOW) : NULL,
         *function = library ? dlsym(library, "f") : NULL;
    char whole[65536];
    FILE *file = fopen(words[1], "rb");
    const size_t size = file ? fread(whole, 1, sizeof whole, file) : 0;
    int found = 0, fits = 0;
    if (!function || !size || size == sizeof whole)
        return 1;
    fclose(file);
    srand(1);
    for (int i = 0; i < atoi(words[2]); i++) {
        char garbled[sizeof whole];
        memcpy(garbled, whole, size);
        const ElfW(Ehdr) *head = (const void *)whole;
        for (int k = 0; i && k < 20; k++) {
            const size_t at =
                k % 2 ? head->e_shoff + (size_t)rand() % (size - head->e_shoff) : (size_t)rand() % size;
            garbled[at] = (char)rand();
        }
        unlink(words[1]);
        file = fopen(words[1], "wb");
        fwrite(garbled, 1, i % 5 == 4 ? (size_t)rand() % size : size, file);
        fclose(file);
        struct compiled_symbol symbol;
        struct elf_file tool;
        const char *why = pse_toolstack_open_elf_file(&tool, words[1], "libmpi.so.12");
        fits += why == NULL;
        pse_toolstack_close_elf_file(&tool);
        objects = NULL;
        pse_trace_find_symbol(function, &symbol);
        found += strcmp(symbol.name, "f") == 0;
        if (i == 0 && (found != 1 || fits != 1))
            return 2;
        pse_trace_free_symbol(&symbol);
    }
    printf("%d %d\n", found, fits);
    return 0;
}
