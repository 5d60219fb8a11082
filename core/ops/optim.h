/* Rules of optim.inc. Included by rows.h only. */
INFER(infer_fused_adam)
INFER(infer_fused_sgd)
COMPOSE(compose_fused_adam)
COMPOSE(compose_fused_adamw)
COMPOSE(compose_fused_sgd)
