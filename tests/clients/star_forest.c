/* Broadcasts and reductions of a star forest of the type in the options, compared with those of type
 * basic. */
#include <petscsf.h>

enum { leaves = 300 };

static PetscErrorCode fill(PetscSF forest, PetscMPIInt rank, PetscMPIInt size)
{
    PetscInt *where;
    PetscSFNode *roots;
    PetscFunctionBeginUser;
    PetscCall(PetscMalloc1(leaves, &where));
    PetscCall(PetscMalloc1(leaves, &roots));
    for (PetscInt i = 0; i < leaves; ++i) {
        where[i] = 2 * i;
        roots[i].rank = (rank + i * i) % size;
        roots[i].index = (7 * i + 13 * rank) % leaves;
    }
    PetscCall(PetscSFSetGraph(forest, leaves, leaves, where, PETSC_OWN_POINTER, roots, PETSC_OWN_POINTER));
    PetscFunctionReturn(0);
}

/* Broadcasts from the roots to the leaves, and reduces from the leaves to `reduced` at the roots. */
static PetscErrorCode move(PetscSF forest, PetscMPIInt rank, double *at_roots, double *at_leaves, double *reduced)
{
    PetscFunctionBeginUser;
    for (int i = 0; i < leaves; ++i) at_roots[i] = 1000 * rank + i;
    for (int i = 0; i < 2 * leaves; ++i) at_leaves[i] = -1;
    PetscCall(PetscSFBcastBegin(forest, MPI_DOUBLE, at_roots, at_leaves, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(forest, MPI_DOUBLE, at_roots, at_leaves, MPI_REPLACE));
    for (int i = 0; i < leaves; ++i) reduced[i] = 0.5;
    PetscCall(PetscSFReduceBegin(forest, MPI_DOUBLE, at_leaves, reduced, MPI_SUM));
    PetscCall(PetscSFReduceEnd(forest, MPI_DOUBLE, at_leaves, reduced, MPI_SUM));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    static double roots[leaves], at[2][2 * leaves], reduced[2][leaves];
    PetscMPIInt rank, size;
    PetscSF forest;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    for (int basic = 0; basic < 2; ++basic) {
        PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &forest));
        if (basic) {
            PetscCall(PetscSFSetType(forest, PETSCSFBASIC));
        } else {
            PetscCall(PetscSFSetFromOptions(forest));
        }
        PetscCall(fill(forest, rank, size));
        for (int round = 0; round < 3; ++round) PetscCall(move(forest, rank, roots, at[basic], reduced[basic]));
        PetscCall(PetscSFDestroy(&forest));
    }
    for (int i = 0; i < 2 * leaves; ++i) {
        PetscCheck(at[0][i] == at[1][i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "leaf %d: %g, not %g", i, at[0][i], at[1][i]);
    }
    for (int i = 0; i < leaves; ++i) {
        PetscCheck(reduced[0][i] == reduced[1][i], PETSC_COMM_SELF, PETSC_ERR_PLIB, "root %d: %g, not %g", i, reduced[0][i],
                   reduced[1][i]);
    }
    PetscCall(PetscFinalize());
    return 0;
}
