/* Runs a fuzz target on files and folders of files: the corpus as a regression test where libFuzzer is absent. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static int replay_file(const char *path, size_t bytes) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(bytes ? bytes : 1);
    int ok = file && data && fread(data, 1, bytes, file) == bytes;
    if (ok) LLVMFuzzerTestOneInput(data, bytes);
    if (!ok) fprintf(stderr, "cannot read %s\n", path);
    if (file) fclose(file);
    free(data);
    return ok ? 1 : -1;
}

/* Number of inputs run, -1 on failure. */
static int replay(const char *path) {
    struct stat info;
    if (stat(path, &info)) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(info.st_mode)) return replay_file(path, (size_t)info.st_size);
    DIR *folder = opendir(path);
    if (!folder) return -1;
    int count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(folder)) != NULL;) {
        char child[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        int n = replay(child);
        count = n < 0 ? -1 : count + n;
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    int total = 0;
    for (int i = 1; i < argc; ++i) {
        int n = replay(argv[i]);
        if (n < 0) return 1;
        total += n;
    }
    printf("%d inputs\n", total);
    return total ? 0 : 1;
}
